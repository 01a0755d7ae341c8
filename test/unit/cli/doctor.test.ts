import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { checkDatabase, databaseFindings } from "../../../src/cli/doctor/deployment.ts";
import { type CountersignObservations, countersignFindings } from "../../../src/cli/doctor/examine.ts";
import { type Finding, reportOf, reportText } from "../../../src/cli/doctor/finding.ts";
import { type Challenge, type ResourceObservations, resourceFindings, tokenChallenge } from "../../../src/cli/doctor/resource.ts";
import { HOSTS, hostFindings, type ServerObservations, serverFindings } from "../../../src/cli/doctor/server.ts";
import { type Answer, type Json, mayFollow, wellKnown } from "../../../src/cli/doctor/web.ts";
import { vendorMetadata } from "../../support/vendor-metadata.ts";

const ISSUER = "https://login.example.test";
const RESOURCE = "https://mcp.example.test/mcp";

const answer = (url: string, body: Json | undefined, more: Partial<Answer> = {}): Answer => ({
  url,
  status: body === undefined ? 404 : 200,
  headers: new Headers(),
  body,
  problem: "status 404",
  ...more,
});
const problemsOf = (findings: readonly Finding[]) =>
  findings.filter(({ verdict }) => verdict !== "ok").map(({ verdict, found, change }) => `${verdict}: ${found} -> ${change}`);

const metadata = vendorMetadata(ISSUER);
const key = { kty: "OKP", alg: "EdDSA", kid: "k", x: "x" };
const server: ServerObservations = {
  issuer: ISSUER,
  oauth: answer(`${ISSUER}/.well-known/oauth-authorization-server`, metadata),
  openid: [answer(`${ISSUER}/.well-known/openid-configuration`, metadata)],
  keys: answer(`${ISSUER}/keys`, { keys: [key] }),
  registration: answer(`${ISSUER}/register`, { error: "invalid_client_metadata" }, { status: 400 }),
  countersign: true,
};
const serving = (members: Json): Partial<ServerObservations> => {
  const document = { ...metadata, ...members };
  return { oauth: answer("", document), openid: [answer("", document)] };
};

test("a correct server has no findings", () => {
  expect(problemsOf(serverFindings(server, ["notes:read"]))).toEqual([]);
  expect(problemsOf(hostFindings(server))).toEqual([]);
  expect(hostFindings(server)).toHaveLength(HOSTS.length);
});

test.for<[string, Partial<ServerObservations>, string]>([
  ["no metadata", { oauth: answer("u", undefined), openid: [] }, "fault: serves no metadata (u: status 404)"],
  ["OpenID metadata alone", { oauth: answer("u", undefined) }, "warning: serves OpenID Connect metadata alone"],
  [
    "plain http",
    { issuer: "http://login.example.test", ...serving({ issuer: "http://login.example.test" }) },
    "fault: is reached over plain http",
  ],
  ["another issuer", serving({ issuer: `${ISSUER}/` }), `fault: its issuer is ${ISSUER}/`],
  [
    "two issuers",
    { openid: [answer("", { ...metadata, issuer: "https://x.test" })] },
    "fault: its metadata documents name different issuers",
  ],
  ["an endpoint over http", serving({ token_endpoint: "http://login.example.test/token" }), "fault: token_endpoint is http://"],
  ["no endpoint", serving({ authorization_endpoint: undefined }), "fault: authorization_endpoint is missing"],
  ["plain PKCE", serving({ code_challenge_methods_supported: ["plain"] }), "fault: PKCE with S256"],
  ["no code", serving({ response_types_supported: ["token"] }), "fault: the response type code"],
  ["no refresh tokens", serving({ grant_types_supported: undefined }), "warning: refresh tokens"],
  ["secrets for all", serving({ token_endpoint_auth_methods_supported: undefined }), "warning: clients without a secret"],
  ["no iss", serving({ authorization_response_iss_parameter_supported: false }), "warning: authorization responses do not name"],
  ["no scopes", serving({ scopes_supported: undefined }), "warning: the metadata lists no scopes_supported"],
  [
    "a scope that is not offered",
    serving({ scopes_supported: ["openid"] }),
    "warning: clients that register themselves are not offered notes:read",
  ],
  ["a record that may lack a scope", serving({ scopes_supported: ["notes:list"] }), "it lacks with `countersign resources diff URL`"],
  ["no jwks_uri", { ...serving({ jwks_uri: undefined }), keys: undefined }, "warning: publishes no keys"],
  ["keys that cannot be read", { keys: answer("", undefined, { problem: "more than 256 kB" }) }, "cannot be read: more than 256 kB"],
  ["a JWK Set without a list", { keys: answer("", { keys: "none" }) }, "there is no list of keys"],
  ["an empty JWK Set", { keys: answer("", { keys: [] }) }, "fault: no key is published"],
  ["a key without kid", { keys: answer("", { keys: [{ ...key, kid: undefined }] }) }, "warning: a published key has no kid"],
  ["a private key", { keys: answer("", { keys: [{ ...key, d: "d" }] }) }, "fault: a PRIVATE key is published"],
  ["no documents", serving({ client_id_metadata_document_supported: false }), "-> set CIMD_ENABLED=true"],
  ["no registration", serving({ registration_endpoint: undefined }), "warning: clients cannot register themselves"],
  ["closed registration", { registration: answer("", undefined, { status: 401 }) }, "warning: its registration endpoint answers 401"],
  ["broken registration", { registration: answer("", undefined, { status: 502 }) }, "fault: its registration endpoint does not work"],
])("reports %s of a server", ([, observations, sentence]) => {
  expect(problemsOf(serverFindings({ ...server, ...observations }, ["notes:read"]))).toEqual([expect.stringContaining(sentence)]);
});

test.for<[string, string, boolean, string]>([
  ["https://other.example.test", ISSUER, true, `, or set JWT_ISSUER=https://other.example.test`],
  [`${ISSUER}/`, ISSUER, true, ""],
  [`${ISSUER}/`, ISSUER, false, `, or set the server's issuer to ${ISSUER}/`],
])("says what to change where a resource names %s, whose issuer is %s (Countersign: %s)", ([issuer, named, countersign, setting]) => {
  const [finding] = serverFindings({ ...server, issuer, countersign }, ["notes:read"]).filter(({ check }) => check === "issuer");
  expect(finding?.change).toBe(`name ${named} in clients and in authorization_servers of resources${setting}`);
});

test("names the setting that limits what clients may register at a Countersign", () => {
  const identityAlone = { ...server, ...serving({ scopes_supported: ["openid", "email"] }) };
  expect(problemsOf(serverFindings(identityAlone, []))).toEqual([
    expect.stringContaining("its scopes to DEFAULT_DYNAMIC_REGISTRATION_SCOPES"),
  ]);
  expect(problemsOf(serverFindings({ ...identityAlone, countersign: false }, []))).toEqual([]);
});

test("without metadata documents and registration, every host needs a manually registered client", () => {
  const closed = { ...serving({ client_id_metadata_document_supported: false }), registration: undefined };
  const findings = hostFindings({ ...server, ...closed });
  expect(findings.map(({ verdict }) => verdict)).toEqual(HOSTS.map(() => "warning"));
  expect(problemsOf(findings)[0]).toContain("with the redirect URI https://claude.ai/api/mcp/auth_callback");
});

test("with metadata documents only, hosts without a document need a registered client", () => {
  const findings = hostFindings({ ...server, registration: undefined });
  expect(problemsOf(findings).map((text) => text.split(" ")[1])).toEqual(["Cursor", "Copilot"]);
});

test("desktop hosts need clients without a secret, and every host needs S256", () => {
  const confidential = hostFindings({ ...server, ...serving({ token_endpoint_auth_methods_supported: ["client_secret_basic"] }) });
  expect(problemsOf(confidential).join()).toMatch(/Claude Code has no secret.*Cursor has no secret/s);
  const plain = hostFindings({ ...server, ...serving({ code_challenge_methods_supported: undefined }) });
  expect(plain.every(({ verdict }) => verdict === "fault")).toBe(true);
});

const document = { resource: RESOURCE, authorization_servers: [ISSUER], scopes_supported: ["notes:read"] };
const resource: ResourceObservations = {
  url: RESOURCE,
  status: 401,
  challenge: { resourceMetadata: "https://mcp.example.test/meta", scope: undefined },
  named: answer("https://mcp.example.test/meta", document),
  withPath: answer(wellKnown(RESOURCE, "oauth-protected-resource"), document),
  atRoot: answer(wellKnown(RESOURCE, "oauth-protected-resource", false), undefined),
};
const describing = (members: Json) => ({ named: answer("", { ...document, ...members }) });
const unnamed = { challenge: { resourceMetadata: undefined, scope: undefined }, named: undefined };

test("a correct resource has no findings", () => {
  expect(problemsOf(resourceFindings(resource))).toEqual([]);
});

test.for<[string, Partial<ResourceObservations>, string]>([
  ["plain http", { url: "http://a.test", ...describing({ resource: "http://a.test" }) }, "fault: is reached over plain http"],
  ["an open resource", { status: 200, challenge: undefined, named: undefined }, "fault: a request without a token answers 200, not 401"],
  ["no challenge", { challenge: undefined, named: undefined }, "fault: answers 401 without a Bearer challenge"],
  ["bound tokens alone", { challenge: { ...resource.challenge, isBound: true } as Challenge }, "warning: takes only tokens that are bound"],
  ["a challenge without metadata", unnamed, "warning: the challenge has no resource_metadata"],
  ["a dead metadata URL", { named: answer("", undefined) }, "which cannot be read: status 404"],
  ["a metadata URL that may not be followed", { named: undefined }, "which cannot be read: it is neither https nor on this machine"],
  [
    "metadata at another place alone",
    { named: answer("https://mcp.example.test/mcp/meta", resource.named?.body), withPath: answer(resource.withPath.url, undefined) },
    "warning: serves its metadata at https://mcp.example.test/mcp/meta alone -> serve it at https://mcp.example.test/.well-known/oauth-protected-resource/mcp too",
  ],
  ["another resource", describing({ resource: "https://other.test/mcp" }), "fault: the metadata is about another resource"],
  ["a sibling", describing({ resource: "https://mcp.example.test/mc" }), "fault: the metadata is about another resource"],
  ["a parent", describing({ resource: "https://mcp.example.test" }), "warning: the metadata is about https://mcp.example.test"],
  ["no resource", describing({ resource: 7 }), "fault: the metadata has no resource"],
  ["no server", describing({ authorization_servers: [] }), "fault: the metadata names no authorization server"],
  ["a server over http", describing({ authorization_servers: ["http://login.example.test"] }), "is no https URL"],
  ["no scopes", describing({ scopes_supported: undefined }), "warning: the metadata lists no scopes_supported"],
  ["no tokens in headers", describing({ bearer_methods_supported: ["body"] }), "fault: tokens in the Authorization header"],
])("reports %s of a resource", ([, observations, sentence]) => {
  expect(problemsOf(resourceFindings({ ...resource, ...observations }))).toEqual([expect.stringContaining(sentence)]);
});

test("names the well-known URL for a resource without metadata", () => {
  const nowhere = { ...unnamed, withPath: answer(resource.withPath.url, undefined) };
  expect(problemsOf(resourceFindings({ ...resource, ...nowhere })).join("\n")).toContain(
    "at https://mcp.example.test/.well-known/oauth-protected-resource/mcp (RFC 9728 §3)",
  );
});

test.for<[string | null, ReturnType<typeof tokenChallenge>]>([
  [null, undefined],
  ["", undefined],
  ["Basic realm=x", undefined],
  ["Bearerish a=b", undefined],
  ["Bearer", { resourceMetadata: undefined, scope: undefined }],
  ['Bearer resource_metadata="https://a.test/m", scope="a b"', { resourceMetadata: "https://a.test/m", scope: "a b" }],
  ['bearer realm="x, Bearer y", RESOURCE_METADATA = "https://a.test/\\"q"', { resourceMetadata: 'https://a.test/"q', scope: undefined }],
  ['Basic realm="x", Bearer scope=a', { resourceMetadata: undefined, scope: "a" }],
  ['DPoP algs="ES256", resource_metadata="https://a.test/m"', { resourceMetadata: "https://a.test/m", scope: undefined, isBound: true }],
  ['DPoP algs="ES256", Bearer scope=a', { resourceMetadata: undefined, scope: "a" }],
  [`Bearer scope="${"a".repeat(9000)}"`, undefined],
])("parses the challenge %s", ([header, challenge]) => {
  expect(tokenChallenge(header)).toEqual(challenge);
});

test.for<[string, string, boolean]>([
  ["https://a.test", "https://b.test", true],
  ["https://a.test", "http://b.test", false],
  ["https://a.test", "http://127.0.0.1:1", false],
  ["https://a.test", "https://localhost", false],
  ["https://a.test", "file:///etc/passwd", false],
  ["https://a.test", "nothing", false],
  ["http://localhost:1", "http://127.0.0.1:2", true],
  ["http://localhost:1", "https://a.test", true],
  ["http://a.test", "http://a.test/keys", true],
])("a link from %s to %s may be followed: %s", ([from, to, expected]) => {
  expect(mayFollow(from, to)).toBe(expected);
});

const own: CountersignObservations = {
  url: ISSUER,
  health: answer("", { status: "ok" }),
  forwardedIgnored: 0,
  clockAhead: 0.4,
};

test.for<[string, Partial<CountersignObservations>, string]>([
  ["an unreachable database", { health: answer("", { status: "error" }, { status: 503 }) }, "fault: its health is error"],
  ["an unreachable Redis", { health: answer("", { status: "degraded" }) }, "warning: Redis does not answer"],
  ["a proxy that is not trusted", { forwardedIgnored: 3 }, "warning: requests arrive through a proxy, but TRUST_PROXY is off"],
  ["a clock that is ahead", { clockAhead: 31 }, "warning: its clock is 31 seconds ahead of"],
])("reports %s of a Countersign", ([, observations, sentence]) => {
  expect(problemsOf(countersignFindings({ ...own, ...observations }))).toEqual([expect.stringContaining(sentence)]);
});

test("reports no proxy finding while the metrics cannot be read", () => {
  const findings = countersignFindings({ ...own, url: "http://localhost:3000", forwardedIgnored: undefined });
  expect(findings.map(({ check }) => check)).toEqual(["health", "clock"]);
});

test("a database that may lose committed data is a fault", () => {
  const durable = { fsync: "on", full_page_writes: "on", synchronous_commit: "on", server_version_num: "150018" };
  const faults = (settings: Record<string, string>) =>
    databaseFindings({ ...durable, ...settings }).filter(({ verdict }) => verdict === "fault").length;
  expect([faults({}), faults({ fsync: "off" }), faults({ synchronous_commit: "off" }), faults({ server_version_num: "140000" })]).toEqual([
    0, 1, 1, 1,
  ]);
});

test("the report has the worst verdict, and its text no control characters", () => {
  const finding: Finding = { check: "c", verdict: "fault", about: "x", found: "bad\u001b[31m", change: "do\n" };
  const report = reportOf(RESOURCE, "protected-resource", [{ ...finding, verdict: "warning" }, finding]);
  expect(report.verdict).toBe("fault");
  expect(reportText(report, (_verdict, mark) => mark).split("\n")).toEqual([
    `${RESOURCE} is a protected resource.`,
    "",
    "x",
    "warning bad[31m",
    "        -> do",
    "FAULT   bad[31m",
    "        -> do",
    "",
    "1 fault, 1 warning, 0 ok",
  ]);
});

test("reports a database whose connection breaks during a query", async () => {
  const READY = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]); // AuthenticationOk, ReadyForQuery
  const server = createServer((socket) => {
    socket.once("data", () => {
      socket.write(READY);
      socket.once("data", () => socket.destroy());
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await checkDatabase(`postgres://u@127.0.0.1:${port}/db`)).toMatchObject([{ verdict: "fault", check: "database" }]);
});
