import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { AuditEntry } from "../../../src/audit.ts";
import { FetchFailure, NO_PLACE } from "../../../src/clients/guarded-fetch.ts";
import { matchingSubjects, type WorkloadIdentity, type WorkloadTrust, workloadDefaults } from "../../../src/clients/workload.ts";
import { authenticateClient, registeredMethod } from "../../../src/core/client-authentication.ts";
import { workloadRefusals } from "../../../src/core/workload/authentication.ts";
import { SVID_ASSERTION_TYPE } from "../../../src/core/workload/rules.ts";
import { Refusal } from "../../../src/errors.ts";
import { ClientCredentialSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { ASSERTION_TYPE, jws, keyFor } from "../../support/assertions.ts";
import { aClient } from "../../support/builders.ts";
import { aThrottle } from "../../support/throttle.ts";

const NOW = 1_000_000;
const HERE = "https://auth.example.test";
const CI = "https://ci.example.test";
const CLUSTER = "https://cluster.example.test";
const DOMAIN = "spiffe://acme.example";
const key = keyFor("ES256", "one");

const clientOf = (clientId: string, members: object = {}) =>
  aClient({ clientId, tokenEndpointAuthMethod: "workload_jwt", secretHash: null, ...members });
const CLIENTS = [
  clientOf("deployer"),
  clientOf("desk"),
  clientOf("twin"),
  clientOf("off", { enabled: false }),
  clientOf("keyed", { tokenEndpointAuthMethod: "private_key_jwt" }),
  clientOf("https://app.example.test/client", {
    origin: "metadata_document",
    spiffe: { id: `${DOMAIN}/apps/*`, bundleEndpoint: "https://app.example.test/bundle" },
  }),
];

const trust = (issuer: string, kind: WorkloadTrust["kind"], members: Partial<WorkloadTrust> = {}): WorkloadTrust => ({
  ...workloadDefaults(kind),
  issuer,
  kind,
  ...members,
});
const TRUSTED = [
  trust(CI, "oidc"),
  trust(CLUSTER, "kubernetes", { algorithms: ["ES256"], maxLifetime: 7_200 }),
  trust(DOMAIN, "spiffe", { bundleEndpoint: "https://spire.example/bundle" }),
  trust(HERE, "oidc"),
];
const PROD = { environment: "production" };
const IDENTITIES: readonly (WorkloadIdentity & { readonly clientId: string })[] = [
  { issuer: CI, subject: "repo:acme/agents", claims: PROD, clientId: "deployer" },
  { issuer: CI, subject: "repo:acme/shared", claims: {}, clientId: "deployer" },
  { issuer: CI, subject: "repo:acme/shared", claims: PROD, clientId: "twin" },
  { issuer: CI, subject: "off", claims: {}, clientId: "off" },
  { issuer: CI, subject: "keyed", claims: {}, clientId: "keyed" },
  { issuer: CLUSTER, subject: "system:serviceaccount:a:b", claims: {}, clientId: "desk" },
  { issuer: DOMAIN, subject: `${DOMAIN}/agents/*`, claims: {}, clientId: "desk" },
  { issuer: HERE, subject: "deployer", claims: {}, clientId: "deployer" },
];

function context({ keys = async () => [key.jwk] }: { readonly keys?: () => Promise<readonly (typeof key.jwk)[]> } = {}) {
  const used: string[] = [];
  const recorded: AuditEntry[] = [];
  const ports = {
    clients: { byClientId: async (id: string) => CLIENTS.find(({ clientId }) => clientId === id) },
    throttle: aThrottle(() => NOW),
    issuer: HERE,
    clock: () => NOW,
    assertionAudiences: [HERE],
    remoteKeys: { current: keys, refreshed: keys },
    documentKeys: { current: keys, refreshed: keys },
    consumedIds: {
      consume: async (...[kind, issuer, id, ttl]: readonly [string, string, string, number]) => {
        const use = `${kind} ${issuer} ${id}`;
        if (used.some((each) => each.startsWith(use))) return false;
        used.push(`${use} ${ttl}`);
        return true;
      },
    },
    workloads: {
      find: async (issuers: readonly string[], subject: string) =>
        TRUSTED.filter(({ issuer }) => issuers.includes(issuer)).map((each) => ({
          ...each,
          id: each.issuer,
          createdAt: 1,
          updatedAt: null,
          identities: IDENTITIES.filter(
            (identity) => identity.issuer === each.issuer && matchingSubjects(subject).includes(identity.subject),
          ),
        })),
      configured: async () => true,
      keys: () => ({ source: "", keys: { current: keys, refreshed: keys } }),
      recordRefusal: async (entry: AuditEntry) => void recorded.push(entry),
    },
  };
  return { ports, used, recorded };
}

const claimsOf = {
  ci: { iss: CI, sub: "repo:acme/agents", aud: HERE, jti: "1", iat: NOW, exp: NOW + 300, ...PROD },
  pod: { iss: CLUSTER, sub: "system:serviceaccount:a:b", aud: [HERE], iat: NOW, exp: NOW + 3_600 },
  svid: { sub: `${DOMAIN}/agents/desk`, aud: HERE, exp: NOW + 300 },
};
interface Sent {
  readonly of?: keyof typeof claimsOf;
  readonly claims?: object;
  readonly header?: object;
  readonly by?: typeof key;
  readonly credential?: object;
}

const present = ({ of = "ci", claims = {}, header = {}, by = key, credential = {} }: Sent, { ports } = context()) => {
  const clientAssertion = jws({ ...claimsOf[of], ...claims }, by, { typ: "JWT", kid: by.jwk.kid, ...header });
  const clientAssertionType = of === "svid" ? SVID_ASSERTION_TYPE : ASSERTION_TYPE;
  const sent = create(ClientCredentialSchema, { assertion: { clientAssertion, clientAssertionType }, ...credential });
  return authenticateClient(sent, registeredMethod, ports).then(
    ({ clientId }) => clientId,
    (error: { code: string; reason: string }) => [error.code, error.reason],
  );
};

describe("docs/protocol.md#workloads: accepted", () => {
  test.for<readonly [string, Sent, string]>([
    ["a workflow", {}, "deployer"],
    ["one for the token endpoint", { claims: { aud: `${HERE}/oauth/token` } }, "deployer"],
    ["a list of one audience", { claims: { aud: [HERE] } }, "deployer"],
    ["no typ", { header: { typ: undefined } }, "deployer"],
    ["typ application/jwt", { header: { typ: "application/jwt" } }, "deployer"],
    ["the client named beside it", { credential: { clientId: "deployer" } }, "deployer"],
    ["a clock that is 59 s behind", { claims: { iat: NOW - 400, exp: NOW - 59 } }, "deployer"],
    ["a pod without jti", { of: "pod" }, "desk"],
    ["a longer life that the issuer's row allows", { of: "pod", claims: { exp: NOW + 7_200 } }, "desk"],
    ["an SVID without iss and iat", { of: "svid" }, "desk"],
    ["an SVID with typ JOSE", { of: "svid", header: { typ: "JOSE" } }, "desk"],
    ["an SVID with an iss, which does not count", { of: "svid", claims: { iss: "https://spire.example" } }, "desk"],
    ["an SVID two segments below", { of: "svid", claims: { sub: `${DOMAIN}/agents/eu/desk` } }, "desk"],
    ["an identity of two clients, one of them named", { claims: { sub: "repo:acme/shared" }, credential: { clientId: "twin" } }, "twin"],
    ["claims that only one of two identities asks for", { claims: { sub: "repo:acme/shared", environment: "dev" } }, "deployer"],
    [
      "an SVID for the client of a document",
      { of: "svid", claims: { sub: `${DOMAIN}/apps/one` }, credential: { clientId: "https://app.example.test/client" } },
      "https://app.example.test/client",
    ],
  ])("%s", async ([, sent, clientId]) => {
    expect(await present(sent)).toBe(clientId);
  });
});

describe("docs/protocol.md#workloads: refused with invalid_client for this reason", () => {
  const stranger = keyFor("ES256", "one");
  test.for<readonly [string, Sent]>([
    ["assertion_malformed", { claims: { pad: "x".repeat(16_384) } }],
    ["assertion_of_another_kind", { header: { typ: "oauth-id-jag+jwt" } }],
    ["assertion_of_another_kind", { header: { typ: "at+jwt" } }],
    ["assertion_of_another_kind", { header: { typ: "dpop+jwt" } }],
    ["assertion_of_another_kind", { header: { typ: "client-authentication+jwt" } }],
    ["assertion_of_another_kind", { header: { typ: "JOSE" } }],
    ["assertion_of_another_kind", { header: { typ: 7 } }],
    ...["jwk", "jku", "x5u", "x5c", "crit"].map((name) => ["assertion_brings_its_key", { header: { [name]: key.jwk } }] as const),
    ["assertion_algorithm_not_accepted", { header: { alg: "none" } }],
    ["assertion_algorithm_not_accepted", { header: { alg: "HS256" } }],
    ["workload_without_subject", { claims: { sub: undefined } }],
    ["workload_without_subject", { claims: { sub: "x".repeat(2_049) } }],
    ["workload_without_spiffe_id", { of: "svid", claims: { sub: "repo:acme/agents" } }],
    ["workload_issuer_unknown", { claims: { iss: "https://other.example.test" } }],
    ["workload_issuer_unknown", { claims: { iss: `${CI}/` } }],
    ["workload_issuer_unknown", { of: "svid", claims: { sub: "spiffe://other.example/agents/desk" } }],
    ["workload_issuer_is_this_server", { claims: { iss: HERE, sub: "deployer" } }],
    ["workload_unknown", { claims: { sub: "repo:acme/other" } }],
    ["workload_unknown", { of: "svid", claims: { sub: `${DOMAIN}/agents` } }],
    ["workload_unknown", { of: "svid", claims: { sub: `${DOMAIN}/agentsdesk` } }],
    ["workload_claims_differ", { claims: { environment: "dev" } }],
    ["workload_claims_differ", { claims: { environment: undefined } }],
    ["workload_of_several_clients", { claims: { sub: "repo:acme/shared" } }],
    ["workload_of_another_client", { credential: { clientId: "desk" } }],
    ["workload_unknown", { of: "svid", claims: { sub: `${DOMAIN}/x` }, credential: { clientId: "https://app.example.test/client" } }],
    ["client_disabled", { claims: { sub: "off" } }],
    ["method_not_registered", { claims: { sub: "keyed" } }],
    ["several_methods", { credential: { clientId: "deployer", clientSecret: "s3cret" } }],
    ["several_methods", { credential: { basic: { clientId: "deployer", clientSecret: "s3cret" } } }],
    ["workload_algorithm_not_accepted", { of: "pod", by: keyFor("EdDSA", "one") }],
    ["workload_for_another_audience", { claims: { aud: "https://other.example.test" } }],
    ["workload_for_another_audience", { claims: { aud: [HERE, "https://other.example.test"] } }],
    ["workload_for_another_audience", { claims: { aud: `${HERE}/` } }],
    ["workload_for_another_audience", { claims: { aud: undefined } }],
    ["workload_for_another_audience", { of: "pod", claims: { aud: ["https://kubernetes.default.svc"] } }],
    ["workload_without_expiry", { claims: { exp: undefined } }],
    ["workload_without_expiry", { claims: { exp: 1e300 } }],
    ["workload_expired", { claims: { exp: NOW - 60 } }],
    ["workload_not_yet_valid", { claims: { iat: NOW + 61 } }],
    ["workload_not_yet_valid", { claims: { nbf: NOW + 61 } }],
    ["workload_lives_too_long", { claims: { exp: NOW + 3_601 } }],
    ["workload_lives_too_long", { of: "svid", claims: { exp: NOW + 3_601 } }],
    ["workload_without_id", { claims: { jti: undefined } }],
    ["signature_wrong", { by: stranger }],
    ["key_unknown", { header: { kid: "other" } }],
  ])("%s: %j", async ([reason, sent]) => {
    const world = context();
    expect(await present(sent, world)).toEqual(["invalid_client", reason]);
    expect(world.used).toEqual([]);
  });

  test.for([
    ["invalid_client", "too_slow"],
    ["temporarily_unavailable", NO_PLACE],
  ] as const)("%s for keys that cannot be fetched: %s", async ([code, reason]) => {
    const keys = () => Promise.reject(new FetchFailure(reason));
    expect(await present({}, context({ keys }))).toEqual([code, `issuer_${reason}`]);
  });
});

test("a token of a single-use issuer is used up once, and remembered until it has expired", async () => {
  const world = context();
  expect(await present({}, world)).toBe("deployer");
  expect(world.used).toEqual([`workload_token ${CI} 1 360`]);
  expect(await present({}, world)).toEqual(["invalid_client", "workload_used_before"]);
  expect([await present({ of: "pod" }, world), await present({ of: "pod" }, world)]).toEqual(["desk", "desk"]);
});

test("a refusal is recorded with its reason, and names the workload once its identity is known", async () => {
  const { ports, recorded } = context();
  await present({ claims: { aud: "x" } }, { ports, used: [], recorded });
  await present({ claims: { sub: "repo:x" } }, { ports, used: [], recorded });
  const service = { type: "service", id: "client-authentication" };
  expect(recorded).toMatchObject([
    {
      event: "workload.refused",
      reason: "workload_for_another_audience",
      rule: "client_proven",
      error: "invalid_client",
      clientId: "deployer",
      workloadIssuer: CI,
      workloadSubject: "repo:acme/agents",
    },
    { reason: "workload_unknown", rule: "client_known", actor: service, workloadIssuer: CI },
  ]);
  expect(recorded[0]).toMatchObject({ outcome: "failure", actor: { type: "client", id: "deployer" } });
  expect(recorded[0]).not.toHaveProperty("address");
  await present({ claims: { aud: "x" }, credential: { address: "192.0.2.1" } }, { ports, used: [], recorded });
  expect(recorded[2]).toMatchObject({ address: "192.0.2.1" });
  expect(recorded[1]).not.toHaveProperty("workloadSubject");
});

test("an outage leaves no record of a refusal", async () => {
  const { ports, recorded } = context();
  const gone = () => Promise.reject(new Refusal("temporarily_unavailable", "database_gone"));
  const failing = { ...ports, clients: { byClientId: gone } };
  expect(await present({}, { ports: failing, used: [], recorded })).toEqual(["temporarily_unavailable", "database_gone"]);
  expect(recorded).toEqual([]);
});

test("of refusals of one client with one reason the first in a minute is recorded, and the next one counts the others", async () => {
  let now = NOW;
  const written: AuditEntry[] = [];
  const record = workloadRefusals(
    async (entry) => void written.push(entry),
    () => now,
  );
  const entry = (clientId: string, reason: string) =>
    record({ event: "workload.refused", outcome: "failure", reason, clientId, actor: { type: "client", id: clientId } });
  await entry("a", "x");
  await entry("a", "x");
  await entry("a", "x");
  await entry("a", "y");
  await entry("b", "x");
  now += 60;
  await entry("a", "x");
  expect(written.map(({ clientId, reason, repeats }) => [clientId, reason, repeats])).toEqual([
    ["a", "x", undefined],
    ["a", "y", undefined],
    ["b", "x", undefined],
    ["a", "x", 2],
  ]);
  now -= 600; // set back: the minute does not become eleven
  await entry("a", "x");
  expect(written).toHaveLength(5);
});

test("a refused workload leaves no unhandled rejection when its client cannot be read, which would end the process", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", note);
  const given = context();
  const gone = async () => {
    throw new Refusal("temporarily_unavailable", "database_gone");
  };
  const failing = { ...given, ports: { ...given.ports, clients: { byClientId: gone } } };
  expect(await present({ claims: { iss: "https://unknown.example" } }, failing)).toEqual(["invalid_client", "workload_issuer_unknown"]);
  await new Promise(setImmediate);
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
