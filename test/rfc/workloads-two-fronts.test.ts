import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SVID_ASSERTION_TYPE } from "../../src/core/workload/rules.ts";
import { ASSERTION_TYPE } from "../support/assertions.ts";
import { type Answer, basicAuth, claimsOf, type ServerDriver } from "../support/flow.ts";
import { type IdentityIssuer, identityIssuer } from "../support/identity-issuer.ts";
import { PROVISIONED } from "../support/server.ts";
import { startTwoFronts } from "../support/two-fronts.ts";
import { untilAnswered } from "../support/until-answered.ts";
import { gitHub, kubernetes, type Platform, REPOSITORY, SERVICE_ACCOUNT, spire } from "../support/workloads.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const client = {
  clientId: "desk",
  name: "Desk",
  tokenEndpointAuthMethod: "workload_jwt",
  grantTypes: ["client_credentials", JWT_BEARER],
  scopes: ["notes:read"],
};

/** Two fronts with a core each, for which both uses of jwt-bearer are enabled. The issuer is the URL of the first. */
let fronts: Awaited<ReturnType<typeof startTwoFronts>>;
let actions: Platform;
let cluster: Platform;
let domain: Platform;
let issuer: IdentityIssuer;
beforeAll(async () => {
  [actions, cluster, domain, issuer] = [await gitHub(), await kubernetes(), await spire(), await identityIssuer()];
  const workloadIdentities = [
    { issuer: actions.issuer, subject: `repo:${REPOSITORY.repository}:environment:${REPOSITORY.environment}` },
    { issuer: cluster.issuer, subject: SERVICE_ACCOUNT },
    { issuer: domain.issuer, subject: `${domain.issuer}/agents/*` },
  ];
  const provision = {
    ...PROVISIONED,
    workloadIssuers: [
      { issuer: actions.issuer, kind: "oidc", allowPrivate: true },
      { issuer: cluster.issuer, kind: "kubernetes", allowPrivate: true },
      { issuer: domain.issuer, kind: "spiffe", bundleEndpoint: `${domain.url}/bundle`, allowPrivate: true },
    ],
    clients: [...PROVISIONED.clients, { ...client, workloadIdentities }],
  };
  fronts = await startTwoFronts(provision, { ID_JAG_ENABLED: "true", ID_JAG_TRUSTED_ISSUERS: issuer.url });
});
afterAll(async () => {
  await fronts.close();
  await Promise.all([actions, cluster, domain, issuer].map((each) => each.close()));
});

type Fields = Record<string, string>;
const both = <Result>(ask: (front: ServerDriver) => Promise<Result>) => Promise.all([fronts.here, fronts.there].map(ask));
const alternately = (n: number): ServerDriver => (n % 2 === 0 ? fronts.here : fronts.there);
const by = (assertion: string, type = ASSERTION_TYPE): Fields => ({ client_assertion_type: type, client_assertion: assertion });
const login = (front: ServerDriver, fields: Fields, headers: Fields = {}): Promise<Answer> =>
  front.form("/oauth/token", { grant_type: "client_credentials", scope: "notes:read", ...fields }, headers);
const bring = (front: ServerDriver, assertion: string, fields: Fields = {}): Promise<Answer> =>
  front.form("/oauth/token", { grant_type: JWT_BEARER, assertion, resource: "desk", ...fields });
/** The same with a new token for each attempt: on a busy machine the keys of its platform may not be there in time. */
const loginAt = (front: ServerDriver, fields: () => Fields): Promise<Answer> => untilAnswered(() => login(front, fields()));
const verdict = ({ status, body }: Answer) => [status, body.error];

test("docs/protocol.md#workloads: a token of each platform is accepted at both fronts", async () => {
  for (const fields of [
    () => by(actions.token(fronts.here.url)),
    () => by(cluster.token([fronts.here.url])),
    () => by(domain.token(fronts.here.url), SVID_ASSERTION_TYPE),
  ])
    for (const { body } of await both((front) => loginAt(front, fields)))
      expect(claimsOf(body.access_token)).toMatchObject({ sub: "desk" });
});

describe("docs/protocol.md#workloads: refused at both fronts", () => {
  test.for<readonly [string, () => Fields]>([
    ["an SVID one path segment short", () => by(domain.token(fronts.here.url, { sub: `${domain.issuer}/agents` }), SVID_ASSERTION_TYPE)],
    ["a Kubernetes token of another audience", () => by(cluster.token(["https://kubernetes.default.svc"]))],
    ["a token for the address of the second front", () => by(cluster.token([fronts.there.url]))],
    ["an identity assertion", () => by(issuer.assertion(fronts.here.url, "desk"))],
    ["a token beside a secret", () => ({ ...by(cluster.token(fronts.here.url)), client_id: "desk", client_secret: "s3cret" })],
  ])("%s", async ([, fields]) => {
    expect((await both((front) => loginAt(front, fields))).map(verdict)).toEqual(Array(2).fill([401, "invalid_client"]));
  });
});

describe("docs/protocol.md#workload-grant: neither use of jwt-bearer takes what belongs to the other", () => {
  test("an identity assertion without a client is refused, at both fronts", async () => {
    const answers = await both((front) => bring(front, issuer.assertion(fronts.here.url, "desk")));
    expect(answers.map(verdict)).toEqual(Array(2).fill([401, "invalid_client"]));
  });

  test("a workload's token with a client's secret is refused, at both fronts, and not used up", async () => {
    const token = actions.token(fronts.here.url);
    const secret = { client_id: "worker", client_secret: "worker-secret" };
    expect((await both((front) => bring(front, token, secret))).map(verdict)).toEqual(Array(2).fill([400, "invalid_grant"]));
    expect((await bring(fronts.there, token)).status).toBe(200);
  });
});

test("of 64 uses of one token at both fronts, as a grant and for client authentication, one gets a token", async () => {
  const crowd = () => {
    const token = actions.token(fronts.here.url);
    return Promise.all(Array.from({ length: 64 }, (_, n) => (n % 4 < 2 ? login(alternately(n), by(token)) : bring(alternately(n), token))));
  };
  let answers = await crowd();
  // A busy machine may answer some with 503, of which one may have used the token up.
  for (let left = 5; left > 0 && answers.some(({ status }) => status === 503); left -= 1) {
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
    answers = await crowd();
  }
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(new Set(answers.map(({ body }) => body.error))).toEqual(new Set([undefined, "invalid_client", "invalid_grant"]));
  const worker = { authorization: basicAuth("worker", "worker-secret") };
  expect((await login(fronts.there, {}, worker)).status).toBe(200);
});
