import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { SVID_ASSERTION_TYPE } from "../../src/core/workload/rules.ts";
import { statement } from "../../src/store/sql.ts";
import { operatorAt, refusedWith } from "../support/admin.ts";
import { ASSERTION_TYPE, keyFor } from "../support/assertions.ts";
import { blocksOf, commandsOf, filled } from "../support/documents.ts";
import { aProof, proofKey } from "../support/dpop.ts";
import { type Answer, claimsOf } from "../support/flow.ts";
import { type Publisher, publisher } from "../support/publisher.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";
import { runAll } from "../support/shell.ts";
import { gitHub, kubernetes, type Platform, REPOSITORY, SERVICE_ACCOUNT, spire } from "../support/workloads.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const client = {
  tokenEndpointAuthMethod: "workload_jwt",
  grantTypes: ["client_credentials", JWT_BEARER],
  scopes: ["notes:read"],
  environment: "production",
};
const PRODUCTION = "repo:acme/agents:environment:production";

let actions: Platform;
let cluster: Platform;
let domain: Platform;
let site: Publisher;
let server: TestServer;

beforeAll(async () => {
  [actions, cluster, domain, site] = [await gitHub(), await kubernetes(), await spire(), await publisher()];
  const of = (name: string, jwksUri: string) => ({ issuer: `${actions.url}/${name}`, kind: "oidc", allowPrivate: true, jwksUri });
  server = await startServer({
    provision: {
      ...PROVISIONED,
      workloadIssuers: [
        { issuer: actions.issuer, kind: "oidc", allowPrivate: true },
        { issuer: cluster.issuer, kind: "kubernetes", allowPrivate: true },
        { issuer: domain.issuer, kind: "spiffe", bundleEndpoint: `${domain.url}/bundle`, allowPrivate: true },
        of("elsewhere", `${actions.url}/elsewhere`),
        of("huge", `${actions.url}/huge`),
        of("late-keys", `${actions.url}/late-keys`),
      ],
      clients: [
        ...PROVISIONED.clients,
        {
          ...client,
          clientId: "deployer",
          name: "Deployer",
          workloadIdentities: [
            { issuer: actions.issuer, subject: PRODUCTION, claims: { repository_id: REPOSITORY.repository_id } },
            ...["elsewhere", "huge", "late-keys"].map((name) => ({ issuer: `${actions.url}/${name}`, subject: PRODUCTION })),
          ],
        },
        {
          ...client,
          clientId: "desk",
          name: "Desk",
          workloadIdentities: [
            { issuer: cluster.issuer, subject: SERVICE_ACCOUNT },
            { issuer: domain.issuer, subject: `${domain.issuer}/agents/*` },
          ],
        },
      ],
    },
  });
});
afterAll(async () => {
  await server.close();
  await Promise.all([actions, cluster, domain, site].map((each) => each.close()));
});

const by = (assertion: string, type = ASSERTION_TYPE) => ({ client_assertion_type: type, client_assertion: assertion });
const token = (fields: Record<string, string>): Promise<Answer> =>
  server.form("/oauth/token", { grant_type: "client_credentials", scope: "notes:read", ...fields });
const svid = (claims: object = {}) => by(domain.token(server.url, claims), SVID_ASSERTION_TYPE);

const RECORDS = statement(
  "test_workload_records",
  "select reason, client_id, workload_issuer, workload_subject from audit_records where request_id = $1",
);
const recordsOf = (answer: Answer) => server.database.sql.query<Record<string, unknown>>(RECORDS, [answer.headers.get("x-request-id")]);

describe("docs/protocol.md#workloads", () => {
  test("a workflow's token authenticates the client that its identity stands for, once", async () => {
    const made = actions.token(server.url);
    const answer = await token(by(made));
    expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    expect(claimsOf(answer.body.access_token)).toMatchObject({ sub: "deployer", client_id: "deployer" });
    expect(await recordsOf(answer)).toEqual([
      { reason: null, client_id: "deployer", workload_issuer: actions.issuer, workload_subject: PRODUCTION },
    ]);
    expect((await token(by(made))).status).toBe(401);
    expect((await token({ ...by(actions.token(server.url)), client_id: "deployer" })).status).toBe(200);
  });

  test("a pod's token authenticates its client again and again, for the issuer or the token endpoint", async () => {
    const made = cluster.token([server.url]);
    expect([(await token(by(made))).status, (await token(by(made))).status]).toEqual([200, 200]);
    expect((await token(by(cluster.token([`${server.url}/oauth/token`])))).status).toBe(200);
  });

  test("an SVID authenticates its client by a key of the bundle that is for SVIDs", async () => {
    const answer = await token(svid());
    expect(claimsOf(answer.body.access_token).sub).toBe("desk");
    expect(domain.asked).toEqual(["/bundle"]);
    const x509 = keyFor("ES256", "svid-1", { use: "x509-svid" });
    expect((await token(by(domain.token(server.url, {}, {}, x509), SVID_ASSERTION_TYPE))).status).toBe(401);
  });

  test("of 64 uses of one workflow's token at once, one gets a token", async () => {
    const made = actions.token(server.url);
    const answers = await Promise.all(Array.from({ length: 64 }, () => token(by(made))));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 63 }, () => 401)]);
  });

  test("metadata lists the method, also under the name of the SPIFFE draft", async () => {
    const metadata = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json();
    expect(metadata.token_endpoint_auth_methods_supported).toEqual(expect.arrayContaining(["workload_jwt", "spiffe_jwt"]));
  });

  test("an issuer that answers late delays its own tokens alone, which are accepted once it answers", async () => {
    let answerLate = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      actions.answers = {
        "/late-keys": (response) => {
          answerLate = () =>
            void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: [actions.key.jwk] }));
          resolve();
        },
      };
    });
    const late = token(by(actions.token(server.url, { iss: `${actions.url}/late-keys` })));
    await arrived;
    const [beside, secret] = await Promise.all([
      token(by(cluster.token(server.url))),
      token({ client_id: "worker", client_secret: "worker-secret" }),
    ]);
    expect([beside.status, secret.status]).toEqual([200, 200]);
    answerLate();
    expect((await late).status).toBe(200);
  });
});

describe("every failure returns the same 401 invalid_client, and its reason is audited", () => {
  const login = async () => (await server.form("/oauth/token", { grant_type: "client_credentials", scope: "notes:read" }, basic)).body;
  const basic = { authorization: `Basic ${Buffer.from("worker:worker-secret").toString("base64")}` };

  const FAILURES: readonly (readonly [reason: string, fields: () => Record<string, string> | Promise<Record<string, string>>])[] = [
    ["workload_unknown", () => svid({ sub: `${domain.issuer}/agents` })],
    ["workload_unknown", () => by(actions.token(server.url, { sub: "repo:acme/agents:pull_request" }))],
    ["workload_claims_differ", () => by(actions.token(server.url, { repository_id: "7302" }))],
    ["workload_issuer_unknown", () => by(actions.token(server.url, { iss: "https://stranger.example" }))],
    ["workload_for_another_audience", () => by(cluster.token(["https://kubernetes.default.svc"]))],
    ["workload_for_another_audience", () => by(actions.token([server.url, "https://other.example.test"]))],
    ["workload_expired", () => by(actions.token(server.url, { iat: 1, nbf: 1, exp: 2 }))],
    ["signature_wrong", () => by(actions.token(server.url, {}, {}, keyFor("RS256", "gh-1")))],
    ["workload_of_another_client", () => ({ ...by(cluster.token(server.url)), client_id: "deployer" })],
    ["issuer_status_not_200", () => by(actions.token(server.url, { iss: `${actions.url}/elsewhere` }))],
    ["issuer_too_large", () => by(actions.token(server.url, { iss: `${actions.url}/huge` }))],
  ];

  test.for(FAILURES)("%s", async ([reason, fields]) => {
    actions.answers = {
      "/elsewhere": (response) => response.writeHead(302, { location: `${actions.url}/.well-known/jwks` }).end(),
      "/huge": (response) =>
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ keys: [actions.key.jwk], pad: "x".repeat(70_000) })),
    };
    const answer = await token(await fields());
    expect([answer.status, answer.body]).toEqual([401, { error: "invalid_client" }]);
    const { rows } = { rows: await server.database.sql.query<{ reason: string }>(REASONS, []) };
    expect(rows.map((row) => row.reason)).toContain(reason);
  });
  const REASONS = statement("test_workload_reasons", "select reason from audit_records where event = 'workload.refused'");

  test("a token beside a client's secret, an identity assertion and tokens of this server are no workload's", async () => {
    const { access_token } = await login();
    for (const fields of [
      by(actions.token(server.url, {}, { typ: "oauth-id-jag+jwt" })),
      by(access_token),
      by(actions.token(server.url, { iss: server.url.replace(/\/$/, "") })),
    ]) {
      const { status, body } = await token(fields);
      expect([status, body]).toEqual([401, { error: "invalid_client" }]);
    }
    const posted = await token({ ...by(cluster.token(server.url)), client_id: "desk", client_secret: "s3cret" });
    const beside = await server.form("/oauth/token", { grant_type: "client_credentials", ...by(cluster.token(server.url)) }, basic);
    const error_description = "Use one method of client authentication: the request has more than one.";
    for (const { status, body } of [posted, beside]) expect([status, body]).toEqual([401, { error: "invalid_client", error_description }]);
  });

  test("nothing in a token selects an address", async () => {
    const before = site.connections();
    const uri = `https://localhost:${site.port}/keys`;
    for (const made of [
      actions.token(server.url, { iss: `https://localhost:${site.port}/other` }),
      actions.token(server.url, { jwks_uri: uri }, { jku: uri }),
      domain.token(server.url, { sub: `spiffe://localhost:${site.port}/agents/desk` }),
    ])
      expect((await token(by(made))).status).toBe(401);
    expect(site.connections()).toBe(before);
  });

  test("introspection and revocation refuse a workload's token", async () => {
    for (const path of ["/oauth/introspect", "/oauth/revoke"])
      expect((await server.form(path, { token: "x", ...by(cluster.token(server.url)) })).status).toBe(401);
  });
});

describe("docs/protocol.md#metadata-documents: a client whose document names a SPIFFE ID", () => {
  const push = (clientId: string, claims: object, to = server) =>
    to.form("/oauth/par", {
      ...by(domain.token(to.url, claims), SVID_ASSERTION_TYPE),
      client_id: clientId,
      response_type: "code",
      redirect_uri: "https://app.example.test/cb",
      code_challenge: to.pkce().challenge,
      code_challenge_method: "S256",
    });

  test("authenticates by an SVID that a key at its own host signed", async () => {
    const clientId = `https://localhost:${site.port}/client`;
    site.serve((request, response) => {
      const document = request.url?.startsWith("/bundle")
        ? { keys: [domain.key.jwk] }
        : {
            client_id: `https://localhost:${site.port}${request.url}`,
            client_name: "An app",
            redirect_uris: ["https://app.example.test/cb"],
            token_endpoint_auth_method: "spiffe_jwt",
            spiffe_id: "spiffe://apps.example/app/*",
            spiffe_bundle_endpoint: request.url === "/elsewhere" ? `${domain.url}/bundle` : `https://localhost:${site.port}/bundle`,
          };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    });
    expect((await push(clientId, { sub: "spiffe://apps.example/app/one" })).status).toBe(201);
    expect((await push(clientId, { sub: "spiffe://apps.example/app" })).body).toEqual({ error: "invalid_client" });
    expect((await push(clientId, { sub: "spiffe://apps.example/app/one", aud: "x" })).status).toBe(401);
    expect((await push(`https://localhost:${site.port}/elsewhere`, { sub: "spiffe://apps.example/app/one" })).status).toBe(401);
  });

  test("needs no trusted platform, so metadata lists the method wherever documents are read", async () => {
    for (const [CIMD_ENABLED, expected] of Object.entries({ true: [201, ["spiffe_jwt"]], false: [401, []] })) {
      const alone = await startServer({ env: { CIMD_ENABLED } });
      const { status } = await push(`https://localhost:${site.port}/client`, { sub: "spiffe://apps.example/app/one" }, alone);
      const { token_endpoint_auth_methods_supported: listed } = (await alone.get("/.well-known/oauth-authorization-server")).body;
      await alone.close();
      expect([status, listed.slice(4)]).toEqual(expected);
    }
  });
});

describe("docs/protocol.md#workload-grant: a token without a credential of the client", () => {
  const bring = (assertion: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
    server.form("/oauth/token", { grant_type: JWT_BEARER, assertion, resource: "desk", ...fields }, headers);

  test("is the client's own, and lasts while the client is not disabled", async () => {
    const answer = await bring(cluster.token(server.url));
    expect(Object.keys(answer.body).toSorted()).toEqual(["access_token", "expires_in", "scope", "token_type"]);
    expect(claimsOf(answer.body.access_token)).toMatchObject({ sub: "desk", client_id: "desk", scope: "notes:read" });
    expect(await recordsOf(answer)).toEqual([
      { reason: null, client_id: "desk", workload_issuer: cluster.issuer, workload_subject: SERVICE_ACCOUNT },
    ]);
    expect((await bring(domain.token(server.url))).status).toBe(200);
  });

  test("is bound to the key that the request proves", async () => {
    const proof = aProof(proofKey(), { url: `${server.url.replace(/\/$/, "")}/oauth/token` });
    expect((await bring(cluster.token(server.url), {}, { dpop: proof })).body.token_type).toBe("DPoP");
  });

  test("of 64 at once for one workflow's token, one is issued", async () => {
    const made = actions.token(server.url);
    const answers = await Promise.all(Array.from({ length: 64 }, () => bring(made, { resource: "deployer" })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 63 }, () => 400)]);
    expect((await token(by(made))).status).toBe(401);
  });

  test("a refused request does not use the token up", async () => {
    const made = actions.token(server.url);
    expect((await bring(made, { resource: "deployer", scope: "other" })).body.error).toBe("invalid_scope");
    expect((await bring(made, { resource: "https://other.example.test" })).body.error).toBe("invalid_target");
    expect((await bring(made, { resource: "deployer" })).status).toBe(200);
  });

  test.for<readonly [string, (b: typeof bring) => Promise<Answer>, object]>([
    ["another audience", (b) => b(cluster.token(["https://kubernetes.default.svc"])), { error: "invalid_grant" }],
    ["an unknown issuer", (b) => b(actions.token(server.url, { iss: "https://stranger.example" })), { error: "invalid_grant" }],
    ["a stranger of a trusted platform", (b) => b(actions.token(server.url, { sub: "repo:x" })), { error: "unauthorized_client" }],
    [
      "an identity assertion, which is off",
      (b) => b(actions.token(server.url, {}, { typ: "oauth-id-jag+jwt" })),
      { error: "unsupported_grant_type" },
    ],
    [
      "a client's secret beside it",
      (b) => b(cluster.token(server.url), { client_id: "worker", client_secret: "worker-secret" }),
      { error: "invalid_grant" },
    ],
  ])("refuses %s", async ([, send, body]) => {
    const answer = await send(bring);
    expect([answer.status, answer.body]).toMatchObject([400, body]);
  });

  test("the refusal of an unknown grant names it, while a platform is trusted", async () => {
    const { status, body } = await server.form("/oauth/token", { grant_type: "password" });
    expect([status, body.error, body.error_description]).toEqual([400, "unsupported_grant_type", expect.stringContaining(JWT_BEARER)]);
  });

  test("metadata lists the grant, without the profile of identity assertions", async () => {
    const metadata = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json();
    expect(metadata.grant_types_supported).toContain(JWT_BEARER);
    expect(metadata).not.toHaveProperty("authorization_grant_profiles_supported");
  });
});

describe("operator.workloadIssuers and operator.workloadIdentities", () => {
  test("a platform is trusted, changed and removed, and its workloads with it, at once", async () => {
    const operator = await operatorAt(server.url);
    const issuer = `${actions.url}/late`;
    const late = () => token(by(actions.token(server.url, { iss: issuer })));
    expect((await late()).status).toBe(401);
    const jwksUri = `${actions.url}/.well-known/jwks`;
    await operator.workloadIssuers.create.mutate({ issuer, kind: "oidc", jwksUri, allowPrivate: true });
    const { id } = await operator.workloadIdentities.add.mutate({ clientId: "deployer", issuer, subject: PRODUCTION });
    expect((await late()).status).toBe(200);
    expect(await operator.workloadIssuers.update.mutate({ issuer, algorithms: ["ES256"] })).toMatchObject({ algorithms: ["ES256"] });
    expect((await late()).status).toBe(401);
    await operator.workloadIssuers.update.mutate({ issuer, algorithms: ["RS256"] });
    expect((await late()).status).toBe(200);
    await operator.workloadIdentities.remove.mutate({ id });
    expect((await late()).status).toBe(401);
    await operator.workloadIdentities.add.mutate({ clientId: "deployer", issuer, subject: PRODUCTION });
    await operator.workloadIssuers.remove.mutate({ issuer });
    expect((await late()).status).toBe(401);
    const { identities } = await operator.workloadIdentities.list.query({ clientId: "deployer" });
    expect(identities.map((each) => each.issuer)).not.toContain(issuer);
  });

  test("refuses what contradicts itself, and identities that stand for another client", async () => {
    const operator = await operatorAt(server.url);
    const issuer = "http://ci.example.test";
    expect(await refusedWith(operator.workloadIssuers.create.mutate({ issuer, kind: "oidc" }))).toMatchObject({
      httpStatus: 400,
      issues: [{ path: "issuer" }],
    });
    expect(
      await refusedWith(operator.workloadIssuers.create.mutate({ issuer: actions.issuer, kind: "oidc", allowPrivate: true })),
    ).toMatchObject({
      httpStatus: 409,
    });
    const taken = { clientId: "desk", issuer: actions.issuer, subject: PRODUCTION, claims: { repository_id: REPOSITORY.repository_id } };
    expect(await refusedWith(operator.workloadIdentities.add.mutate(taken))).toMatchObject({ httpStatus: 409 });
    expect(await refusedWith(operator.workloadIssuers.get.query({ issuer }))).toMatchObject({ httpStatus: 404 });
  });

  test("test says which rule refuses a token, offline; with signature it also fetches the keys", async () => {
    const { workloadIssuers } = await operatorAt(server.url);
    const stranger = keyFor("RS256", "gh-1");
    const forged = actions.token(server.url, {}, {}, stranger);
    const offline = await workloadIssuers.test.mutate({ token: forged });
    expect(offline.clientId).toBe("deployer");
    expect(offline.rules.find(({ rule }) => rule === "workload_signed")?.verdict).toBe("taken_for_granted");
    const online = await workloadIssuers.test.mutate({ token: forged, signature: true });
    expect(online.rules.find(({ verdict }) => verdict === "refused")).toMatchObject({ rule: "workload_signed", reason: "signature_wrong" });
    const other = await workloadIssuers.test.mutate({ token: actions.token(server.url, { sub: "repo:x" }) });
    expect(other.rules.find(({ verdict }) => verdict === "refused")).toMatchObject({
      rule: "workload_identity",
      reason: "workload_unknown",
    });
    const good = actions.token(server.url);
    expect((await workloadIssuers.test.mutate({ token: good, signature: true })).clientId).toBe("deployer");
    expect((await token(by(good))).status).toBe(200);
  });
});

describe("docs/workloads.md: the rows of the page accept the tokens of its platforms", () => {
  const AUDIENCE = "https://auth.example";
  const blocks = blocksOf("docs/workloads.md");
  const block = (name: string) => blocks.find((each) => each.name === name)?.code ?? "";
  const rowsOf = (section: string) => blocks.find((each) => each.section === section && each.language === "json")?.code ?? "";
  /** Applies the rows, with a local platform in the place of the page's. */
  const provision = async (section: string, replacements: Readonly<Record<string, string>>) => {
    const rows = JSON.parse(filled(rowsOf(section), replacements));
    const workloadIssuers = rows.workloadIssuers.map((issuer: object) => ({ ...issuer, allowPrivate: true }));
    await (await operatorAt(server.url)).provision.mutate({ ...rows, workloadIssuers });
  };
  const subOf = async (fields: Record<string, string>) => claimsOf((await token(fields)).body.access_token ?? "").sub;

  test("a pod of the manifest", async () => {
    const [account, pod] = parseAllDocuments(block("pod.yaml")).map((document) => document.toJS({ mapAsMap: false }));
    const { audience, expirationSeconds } = pod.spec.volumes[0].projected.sources[0].serviceAccountToken;
    expect([audience, account.metadata]).toEqual([AUDIENCE, { name: pod.spec.serviceAccountName, namespace: pod.metadata.namespace }]);
    const platform = await kubernetes();
    await provision("kubernetes", { "https://kubernetes.default.svc.cluster.local": platform.issuer });
    const iat = Math.floor(Date.now() / 1000);
    const sub = `system:serviceaccount:${pod.metadata.namespace}:${pod.spec.serviceAccountName}`;
    expect(await subOf(by(platform.token([server.url], { sub, iat, exp: iat + expirationSeconds })))).toBe("desk");
    await platform.close();
  });

  test("a job of the workflow", async () => {
    const { deploy } = parse(block("deploy.yml")).jobs;
    expect([deploy.permissions, deploy.steps[0].run]).toEqual([{ "id-token": "write" }, expect.stringContaining(`audience=${AUDIENCE}`)]);
    const platform = await gitHub();
    await provision("github-actions", { "https://token.actions.githubusercontent.com": platform.issuer });
    const sub = `repo:${REPOSITORY.repository}:environment:${deploy.environment}`;
    expect(await subOf({ ...by(platform.token(server.url, { sub })), client_id: "deployer" })).toBe("deployer");
    await platform.close();
  });

  test("a workload of the trust domain", async () => {
    expect(block("server.conf")).toContain('trust_domain = "acme.example"');
    const platform = await spire("spiffe://page.example");
    await provision("spiffe", {
      "spiffe://acme.example": platform.issuer,
      "https://spire.acme.example:8443/": `${platform.url}/bundle`,
    });
    expect(await subOf(by(platform.token(server.url), SVID_ASSERTION_TYPE))).toBe("fleet");

    const stand = mkdtempSync(join(tmpdir(), "countersign-spire-"));
    const PATH = `${stand}:${process.env.PATH}`;
    const svid = `token(${platform.issuer}/agents/desk):\n\t${platform.token(server.url)}\nbundle(${platform.issuer}):\n\t{"keys":[]}`;
    writeFileSync(join(stand, "spire-agent"), `#!/bin/sh\ntest "$*" = "$EXPECTED" && cat <<'END'\n${svid}\nEND\n`, { mode: 0o755 });
    const issuer = server.url.replace(/\/$/, "");
    const commands = commandsOf("docs/workloads.md", "spiffe", { [AUDIENCE]: issuer });
    const EXPECTED = `api fetch jwt -audience ${issuer} -socketPath /run/spire/agent.sock`;
    expect(claimsOf(JSON.parse(await runAll(commands, stand, { PATH, EXPECTED })).access_token).sub).toBe("fleet");
    rmSync(stand, { recursive: true });
    await platform.close();
  });
});

test("no request was answered with a fault", () => {
  expect(server.faults()).toEqual([]);
});
