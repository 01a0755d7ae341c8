import { createHmac } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { CLIENT_ASSERTION_ALGORITHMS, type Client } from "../../../src/clients/client.ts";
import { FetchFailure, type GuardedFetch, NO_PLACE } from "../../../src/clients/guarded-fetch.ts";
import type { PublishedKey } from "../../../src/clients/public-keys.ts";
import { remoteKeys } from "../../../src/clients/remote-keys.ts";
import { assertionAudiences, readAssertion } from "../../../src/core/client-assertion.ts";
import { anySecretMethod, authenticateClient, registeredMethod } from "../../../src/core/client-authentication.ts";
import { Refusal } from "../../../src/errors.ts";
import { ClientCredentialSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { ASSERTION_TYPE, anAssertion, jws, keyFor, type TestKey } from "../../support/assertions.ts";
import { aClient, refusalOf } from "../../support/builders.ts";
import { aThrottle } from "../../support/throttle.ts";
import { NO_WORKLOADS } from "../../support/workloads.ts";

const NOW = 1_000_000;
const ISSUER = "https://auth.example.test";
const key = keyFor("EdDSA", "one");
const otherKey = keyFor("EdDSA", "one");

const keyClient = (members: Partial<Client> = {}): Client =>
  aClient({ tokenEndpointAuthMethod: "private_key_jwt", secretHash: null, jwks: { keys: [key.jwk] }, ...members });

/** Ports in memory, which also record their calls. */
function testPorts(client: Client) {
  const used = new Set<string>();
  const keyRequests: string[] = [];
  return {
    used,
    keyRequests,
    ports: {
      clients: { byClientId: async (id: string) => (id === client.clientId ? client : undefined) },
      throttle: aThrottle(() => NOW),
      workloads: NO_WORKLOADS,
      issuer: ISSUER,
      clock: () => NOW,
      assertionAudiences: assertionAudiences(ISSUER, "strict") as readonly string[],
      remoteKeys: {
        current: async (uri: string): Promise<readonly PublishedKey[]> => {
          keyRequests.push(`current ${uri}`);
          return [];
        },
        refreshed: async (uri: string): Promise<readonly PublishedKey[]> => {
          keyRequests.push(`refreshed ${uri}`);
          return [];
        },
      },
      documentKeys: { current: async () => [], refreshed: async () => [] },
      consumedIds: {
        consume: async (kind: string, issuer: string, id: string, ttl: number) => {
          const entry = `${kind} ${issuer} ${id} ${ttl}`;
          if (used.has(entry)) return false;
          used.add(entry);
          return true;
        },
      },
    },
  };
}

type TestPorts = ReturnType<typeof testPorts>;

const present = (credential: MessageInitShape<typeof ClientCredentialSchema>, context: TestPorts, rule = registeredMethod) =>
  authenticateClient(create(ClientCredentialSchema, credential), rule, context.ports).then(
    (client) => client.clientId,
    (error) => [error.code, error.reason],
  );
const assertion = (clientAssertion: string, clientAssertionType = ASSERTION_TYPE) => ({
  assertion: { clientAssertion, clientAssertionType },
});
const made = (claims: object = {}, header: object = {}, by: TestKey = key) =>
  anAssertion(by, { clientId: "notes-app", audience: ISSUER, now: NOW, claims, header });
const outcome = (text: string, client = keyClient()) => present(assertion(text), testPorts(client));
const refused = (reason: string) => ["invalid_client", reason];

describe("docs/protocol.md#client-assertions: accepts", () => {
  // RSA keys take long to make on a busy machine: outside of the tests, which have a limit.
  const keys = CLIENT_ASSERTION_ALGORITHMS.map((alg) => [alg, keyFor(alg, "k")] as const);
  test.for(keys)("a signature by %s, which the metadata advertises", async ([alg, own]) => {
    expect(await outcome(made({}, {}, own), keyClient({ jwks: { keys: [own.jwk] } }))).toBe("notes-app");
    const named = { ...own.jwk, alg };
    expect(await outcome(made({}, {}, own), keyClient({ jwks: { keys: [named] } }))).toBe("notes-app");
  });

  test.for([
    ["EdDSA", "Ed25519"],
    ["Ed25519", "EdDSA"],
  ] as const)("docs/protocol.md#client-assertions: a signature by %s with a key whose alg is %s", async ([alg, named]) => {
    const own = keyFor(alg, "k", { alg: named });
    expect(await outcome(made({}, {}, own), keyClient({ jwks: { keys: [own.jwk] } }))).toBe("notes-app");
  });

  test.for([
    ["no type", undefined],
    ["JWT", "JWT"],
    ["jwt", "jwt"],
    ["application/jwt", "application/jwt"],
    ["client-authentication+jwt", "client-authentication+jwt"],
    ["application/client-authentication+jwt", "application/client-authentication+jwt"],
  ] as const)("typ: %s", async ([, typ]) => {
    expect(await outcome(made({}, { typ }))).toBe("notes-app");
  });

  test.for([
    ["the audience as a list of one", { aud: [ISSUER] }],
    ["without iat", { iat: undefined }],
    ["an iat within the skew", { iat: NOW + 60 }],
    ["an nbf within the skew", { nbf: NOW + 60 }],
    ["an exp in the past, within the skew", { exp: NOW - 59 }],
    ["an exp an hour ahead, within the skew", { exp: NOW + 3_660 }],
  ] as const)("%s", async ([, claims]) => {
    expect(await outcome(made(claims))).toBe("notes-app");
  });

  test("a client that names itself by a URL, as those of metadata documents do", async () => {
    const clientId = "https://app.example.test/client.json";
    expect(await outcome(made({ iss: clientId, sub: clientId }), keyClient({ clientId }))).toBe(clientId);
  });

  test("client_id beside the assertion, also an empty one, if it names the same client", async () => {
    const client = keyClient();
    expect(await present({ ...assertion(made()), clientId: "notes-app" }, testPorts(client))).toBe("notes-app");
    expect(await present({ ...assertion(made()), clientId: "" }, testPorts(client))).toBe("notes-app");
    expect(await present({ ...assertion(made()), clientId: "other" }, testPorts(client))).toEqual(refused("contradicting_client_ids"));
  });

  test("an assertion without kid, if the client has one key", async () => {
    expect(await outcome(made({}, { kid: undefined }))).toBe("notes-app");
  });

  test("RFC 9126 §2: an endpoint that takes assertions as audience with CLIENT_ASSERTION_AUDIENCE=compat, and no other URL", async () => {
    const context = testPorts(keyClient());
    context.ports.assertionAudiences = assertionAudiences(ISSUER, "compat");
    expect(await present(assertion(made({ aud: `${ISSUER}/oauth/token` })), context)).toBe("notes-app");
    expect(await present(assertion(made({ aud: `${ISSUER}/oauth/par` })), context)).toBe("notes-app");
    expect(await present(assertion(made()), context)).toBe("notes-app");
    const others = [`${ISSUER}/`, `${ISSUER}/oauth/introspect`, [ISSUER, `${ISSUER}/oauth/token`]];
    for (const aud of others) expect(await present(assertion(made({ aud })), context)).toEqual(refused("assertion_for_another_audience"));
  });
});

describe("docs/protocol.md#client-assertions: refuses", () => {
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const unsigned = (alg: string) =>
    `${encoded({ alg })}.${encoded({ iss: "notes-app", sub: "notes-app", aud: ISSUER, exp: NOW + 60, jti: "1" })}.`;

  test("abuse 32: alg none, and HS256 keyed with the public key", async () => {
    expect(await outcome(unsigned("none"))).toEqual(refused("assertion_algorithm_not_accepted"));
    const input = unsigned("HS256").slice(0, -1);
    const secret = JSON.stringify(key.jwk);
    expect(await outcome(`${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`)).toEqual(
      refused("assertion_algorithm_not_accepted"),
    );
  });

  test.for([
    ["jwk", { jwk: otherKey.jwk }],
    ["jku", { jku: "https://evil.example/keys" }],
    ["x5u", { x5u: "https://evil.example/cert" }],
    ["x5c", { x5c: ["MII"] }],
    ["crit", { crit: ["exp"] }],
    ["b64", { b64: false }],
    ["zip", { zip: "DEF" }],
  ] as const)("abuse 33: the header member %s with any signature, without fetching keys", async ([, header]) => {
    for (const by of [key, otherKey]) {
      const context = testPorts(keyClient({ jwks: null, jwksUri: "https://client.example.test/keys" }));
      expect(await present(assertion(made({}, header, by)), context)).toEqual(refused("assertion_brings_its_key"));
      expect(context.keyRequests).toEqual([]);
    }
  });

  test.for([
    ["abuse 31: the token endpoint as audience", { aud: `${ISSUER}/oauth/token` }, "assertion_for_another_audience"],
    ["abuse 31: the issuer with another", { aud: [ISSUER, "https://other.example.test"] }, "assertion_for_another_audience"],
    ["the issuer with a slash", { aud: `${ISSUER}/` }, "assertion_for_another_audience"],
    ["abuse 31: no audience", { aud: undefined }, "assertion_for_another_audience"],
    ["an empty list of audiences", { aud: [] }, "assertion_for_another_audience"],
    ["no exp", { exp: undefined }, "assertion_without_expiry"],
    ["an exp that is not a number", { exp: "soon" }, "assertion_without_expiry"],
    ["an exp out of range", { exp: 1e300 }, "assertion_without_expiry"],
    ["an expired assertion", { exp: NOW - 60 }, "assertion_expired"],
    ["an exp more than an hour ahead", { exp: NOW + 3_661 }, "assertion_lives_too_long"],
    ["an iat in the future", { iat: NOW + 61 }, "assertion_not_yet_valid"],
    ["an iat that is not a number", { iat: "now" }, "assertion_not_yet_valid"],
    ["an nbf in the future", { nbf: NOW + 61 }, "assertion_not_yet_valid"],
    ["no jti", { jti: undefined }, "assertion_without_id"],
    ["an empty jti", { jti: "" }, "assertion_without_id"],
    ["a jti that is not a string", { jti: 7 }, "assertion_without_id"],
    ["another issuer", { iss: "other" }, "assertion_subject_not_issuer"],
    ["no issuer", { iss: undefined }, "assertion_subject_not_issuer"],
    ["no subject", { sub: undefined }, "assertion_subject_not_issuer"],
    ["neither subject nor issuer", { iss: undefined, sub: undefined }, "assertion_subject_not_issuer"],
    ["a number as both", { iss: 7, sub: 7 }, "assertion_subject_not_issuer"],
    ["an empty name as both", { iss: "", sub: "" }, "assertion_subject_not_issuer"],
    ["more than 8192 characters", { padding: "x".repeat(8_192) }, "assertion_malformed"],
    ["a URL without a scheme as issuer", { iss: "x https://ci.example.test" }, "assertion_subject_not_issuer"],
    ["a platform by http", { iss: "http://ci.example.test" }, "workload_issuer_unknown"],
    ["a platform by https", { iss: "https://ci.example.test" }, "workload_issuer_unknown"],
    ["an object as subject", { iss: {}, sub: {} }, "assertion_subject_not_issuer"],
    ["another client", { iss: "other", sub: "other" }, "client_unknown"],
  ] as const)("%s", async ([, claims, reason]) => {
    expect(await outcome(made(claims))).toEqual(refused(reason));
  });

  test.for(["at+jwt", "oauth-id-jag+jwt", "dpop+jwt", "logout+jwt", "secevent+jwt", "", 7])(
    "typ %j, as another kind of token",
    async (typ) => {
      expect(await outcome(made({}, { typ }))).toEqual(refused("assertion_of_another_kind"));
    },
  );

  test.for([
    ["", "assertion_malformed"],
    ["a.b", "assertion_malformed"],
    ["a.b.c.d", "assertion_malformed"],
    [`${made()}\n`, "assertion_malformed"],
    [`${made()}=`, "assertion_malformed"],
    [`${"x".repeat(8_192)}.e30.e30`, "assertion_malformed"],
    [jws([], key), "assertion_malformed"],
  ] as const)("malformed JWT %#", async ([text, reason]) => {
    expect(await outcome(text)).toEqual(refused(reason));
  });

  test.for(["", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer", `${ASSERTION_TYPE} `, ASSERTION_TYPE.toUpperCase()])(
    "client_assertion_type %j",
    async (type) => {
      expect(await present(assertion(made(), type), testPorts(keyClient()))).toEqual(refused("assertion_type_unknown"));
    },
  );

  test("another key's signature, a changed claim, and an empty signature", async () => {
    expect(await outcome(made({}, {}, otherKey))).toEqual(refused("signature_wrong"));
    const [header, , signature] = made().split(".");
    expect(await outcome(`${header}.${made().split(".")[1]}.${signature}`)).toEqual(refused("signature_wrong"));
    expect(await outcome(`${header}.${made().split(".")[1]}.`)).toEqual(refused("signature_wrong"));
  });

  const rsa = keyFor("RS256", "r");
  test.for([
    ["no keys at all", {}, "key_unknown"],
    ["no such kid", { keys: [{ ...key.jwk, kid: "two" }] }, "key_unknown"],
    ["two keys of one kid", { keys: [key.jwk, otherKey.jwk] }, "key_ambiguous"],
    ["a key for encryption", { keys: [{ ...key.jwk, use: "enc" }] }, "key_unknown"],
    ["a key for other operations", { keys: [{ ...key.jwk, key_ops: ["sign"] }] }, "key_unknown"],
    ["a key for another algorithm", { keys: [{ ...key.jwk, alg: "ES256" }] }, "key_unknown"],
    ["a key of another type under the kid", { keys: [{ ...rsa.jwk, kid: "one" }] }, "key_unknown"],
    ["a key on another curve", { keys: [{ ...key.jwk, crv: "Ed448" }] }, "key_unknown"],
    ["a private key in the set", { keys: [key.jwk, { ...rsa.jwk, d: "AQAB" }] }, "key_unknown"],
  ] as const)("an assertion of a client with %s", async ([, jwks, reason]) => {
    expect(await outcome(made(), keyClient({ jwks }))).toEqual(refused(reason));
  });

  test("an assertion without kid when several keys could have signed it", async () => {
    const jwks = { keys: [key.jwk, { ...otherKey.jwk, kid: "two" }] };
    expect(await outcome(made({}, { kid: undefined }), keyClient({ jwks }))).toEqual(refused("key_ambiguous"));
    expect(await outcome(made(), keyClient({ jwks }))).toBe("notes-app");
  });

  test("RS256 with a key for PS256, and the reverse", async () => {
    const jwks = { keys: [{ ...rsa.jwk, alg: "PS256" }] };
    expect(await outcome(made({}, {}, rsa), keyClient({ jwks }))).toEqual(refused("key_unknown"));
    const confused = { ...rsa, alg: "PS256" };
    expect(await outcome(made({}, {}, confused), keyClient({ jwks: { keys: [{ ...rsa.jwk, alg: "RS256" }] } }))).toEqual(
      refused("key_unknown"),
    );
  });

  test("a disabled client, and a client without keys", async () => {
    expect(await outcome(made(), keyClient({ enabled: false }))).toEqual(refused("client_disabled"));
    expect(await outcome(made(), keyClient({ jwks: null }))).toEqual(refused("client_without_keys"));
  });

  test("abuse 28: a client registered for another method, even if it has keys, without fetching keys or consuming the jti", async () => {
    for (const method of ["client_secret_basic", "client_secret_post", "none"] as const) {
      const context = testPorts(keyClient({ tokenEndpointAuthMethod: method, jwks: null, jwksUri: "https://client.example.test/keys" }));
      expect(await present(assertion(made()), context)).toEqual(refused("method_not_registered"));
      expect([context.keyRequests, context.used.size]).toEqual([[], 0]);
    }
  });

  test("a wrong assertion or a secret of a client whose metadata document lists none and private_key_jwt", async () => {
    const client = keyClient({ tokenEndpointAuthMethod: "none", alternativeAuthMethods: ["private_key_jwt"] });
    expect(await present(assertion(made()), testPorts(client))).toBe("notes-app");
    expect(await present(assertion(made({}, {}, otherKey)), testPorts(client))).toEqual(refused("signature_wrong"));
    expect(await present({ clientId: "notes-app" }, testPorts(client))).toBe("notes-app");
    expect(await present({ clientId: "notes-app", clientSecret: "x" }, testPorts(client))).toEqual(refused("method_not_registered"));
  });

  test("docs/protocol.md#client-authentication: assertions at introspection and revocation", async () => {
    const context = testPorts(keyClient());
    expect(await present(assertion(made()), context, anySecretMethod)).toEqual(refused("method_not_registered"));
    expect(context.used.size).toBe(0);
  });
});

describe("the jti of an assertion", () => {
  test("abuse 30: can be used once, and is stored until the assertion has expired", async () => {
    const context = testPorts(keyClient());
    const text = made({ jti: "only" });
    expect(await present(assertion(text), context)).toBe("notes-app");
    expect(await present(assertion(text), context)).toEqual(refused("assertion_used_before"));
    expect([...context.used]).toEqual(["client_assertion notes-app only 360"]);
  });

  test("is not consumed by another key's assertion", async () => {
    const context = testPorts(keyClient());
    expect(await present(assertion(made({ jti: "only" }, {}, otherKey)), context)).toEqual(refused("signature_wrong"));
    expect(await present(assertion(made({ jti: "only" })), context)).toBe("notes-app");
  });

  test("is refused as temporarily_unavailable while the store is unreachable", async () => {
    const context = testPorts(keyClient());
    const ports = {
      ...context.ports,
      consumedIds: { consume: () => Promise.reject(new Refusal("temporarily_unavailable", "storage_unreachable")) },
    };
    expect(await present(assertion(made()), { ...context, ports })).toEqual(["temporarily_unavailable", "storage_unreachable"]);
  });
});

describe("keys of a jwks_uri", () => {
  const uri = "https://client.example.test/keys";
  const remoteClient = keyClient({ jwks: null, jwksUri: uri });
  const withKeys = (known: readonly PublishedKey[], renewed: readonly PublishedKey[] = known) => {
    const context = testPorts(remoteClient);
    const remoteKeys = {
      current: async () => {
        context.keyRequests.push("current");
        return known;
      },
      refreshed: async () => {
        context.keyRequests.push("refreshed");
        return renewed;
      },
    };
    return { ...context, ports: { ...context.ports, remoteKeys } };
  };

  test("are used from the cache", async () => {
    const context = withKeys([key.jwk]);
    expect([await present(assertion(made()), context), context.keyRequests]).toEqual(["notes-app", ["current"]]);
  });

  test("are fetched again for an unknown kid", async () => {
    const context = withKeys([{ ...otherKey.jwk, kid: "old" }], [key.jwk]);
    expect([await present(assertion(made()), context), context.keyRequests]).toEqual(["notes-app", ["current", "refreshed"]]);
    const still = withKeys([{ ...otherKey.jwk, kid: "old" }]);
    expect(await present(assertion(made()), still)).toEqual(refused("key_unknown"));
  });

  test("are fetched again when a key was replaced under the same kid, or without one", async () => {
    for (const [kid, assertionOf] of [
      ["one", made()],
      [undefined, made({}, { kid: undefined })],
    ] as const) {
      const context = withKeys([{ ...otherKey.jwk, kid }], [{ ...key.jwk, kid }]);
      expect([await present(assertion(assertionOf), context), context.keyRequests]).toEqual(["notes-app", ["current", "refreshed"]]);
    }
    const still = withKeys([otherKey.jwk]);
    expect(await present(assertion(made()), still)).toEqual(refused("signature_wrong"));
  });

  test("do not hide a wrong signature when they cannot be fetched again", async () => {
    const context = testPorts(remoteClient);
    const remoteKeys = { current: async () => [otherKey.jwk], refreshed: () => Promise.reject(new FetchFailure("too_slow")) };
    expect(await present(assertion(made()), { ...context, ports: { ...context.ports, remoteKeys } })).toEqual(refused("signature_wrong"));
  });

  test.for([
    ["invalid_client", "too_slow"],
    ["temporarily_unavailable", NO_PLACE],
  ] as const)("cause %s when they cannot be fetched: %s", async ([code, reason]) => {
    const context = testPorts(remoteClient);
    const remoteKeys = { current: () => Promise.reject(new FetchFailure(reason)), refreshed: async () => [] };
    expect(await present(assertion(made()), { ...context, ports: { ...context.ports, remoteKeys } })).toEqual([code, `keys_${reason}`]);
  });
});

test("reading an assertion returns its client and kid, but no other reference to a key", () => {
  const read = readAssertion(ASSERTION_TYPE, made());
  expect(read).toMatchObject({ clientId: "notes-app", header: { kid: "one", alg: "EdDSA" } });
  expect(refusalOf(() => readAssertion(ASSERTION_TYPE, made({}, { kid: 7 })))).toEqual(refused("assertion_malformed"));
});

describe("while failures of a client and address are throttled", () => {
  /** A client with a jwks_uri, and a count of its fetches. */
  function throttled() {
    let fetches = 0;
    const fetch = {
      json: async () => {
        fetches += 1;
        return { value: { keys: [key.jwk] }, headers: new Headers() };
      },
    } as unknown as GuardedFetch;
    const context = testPorts(keyClient({ jwks: null, jwksUri: "https://app.example.test/keys" }));
    const ports = { ...context.ports, remoteKeys: remoteKeys(fetch, () => NOW) };
    const attempt = (text: string) => present(assertion(text), { ...context, ports });
    return { attempt, fetches: () => fetches };
  }

  test("a valid assertion is accepted, a wrong one is refused with too_many_requests, and unknown keys are looked for once", async () => {
    const { attempt, fetches } = throttled();
    const forged = (n: number) => made({ jti: `forged ${n}` }, { kid: `key ${n}` }, otherKey);
    for (let n = 0; n < 100; n++) expect(await attempt(forged(n))).toEqual(refused("key_unknown"));
    expect((await attempt(forged(101)))[0]).toBe("too_many_requests");
    expect(await attempt(made({ jti: "right" }))).toBe("notes-app");
    expect((await attempt(made({ jti: "right" })))[0]).toBe("too_many_requests"); // the jti was used before
    for (let n = 200; n < 300; n++) await attempt(forged(n));
    expect(fetches()).toBe(2);
  });
});
