import { expect, test } from "vitest";
import { databaseFindings, type Observations, serviceFindings } from "../../../src/cli/doctor.ts";

const URL = "https://login.example.test";
const metadata = { issuer: URL, code_challenge_methods_supported: ["S256"], scopes_supported: ["openid", "notes:read"] };
const well: Observations = {
  url: URL,
  health: { status: 200, body: { status: "ok" } },
  metadata,
  openid: { issuer: URL },
  keys: [{ kty: "OKP", alg: "EdDSA", kid: "k", x: "x" }],
  forwardedIgnored: 0,
  clockAhead: 0.4,
};
const wrong = (observations: Partial<Observations>) =>
  serviceFindings({ ...well, ...observations })
    .filter(({ verdict }) => verdict !== "good")
    .map(({ verdict, sentence }) => `${verdict}: ${sentence}`);

test("a well deployment has nothing wrong", () => {
  expect(wrong({})).toEqual([]);
  expect(serviceFindings(well).length).toBeGreaterThan(6);
});

test.for<[string, Partial<Observations>, string]>([
  ["nothing there", { health: undefined }, `fault: nothing answers at ${URL}`],
  ["the database away", { health: { status: 503, body: { status: "error" } } }, "fault: its health is error"],
  ["Redis away", { health: { status: 200, body: { status: "degraded" } } }, "warning: Redis does not answer"],
  ["no metadata", { metadata: undefined }, "fault: it serves no metadata"],
  ["another issuer", { metadata: { ...metadata, issuer: `${URL}/` }, openid: { issuer: `${URL}/` } }, `fault: its issuer is ${URL}/`],
  ["no OpenID configuration", { openid: undefined }, "fault: the OpenID configuration"],
  ["plain PKCE", { metadata: { ...metadata, code_challenge_methods_supported: ["plain"] } }, "fault: PKCE"],
  ["identity scopes alone", { metadata: { ...metadata, scopes_supported: ["openid", "email"] } }, "warning: clients that register"],
  ["no key", { keys: [] }, "fault: no Ed25519 key"],
  ["a private key", { keys: [{ kty: "OKP", alg: "EdDSA", kid: "k", x: "x", d: "d" }] }, "fault: a PRIVATE key is published"],
  ["a proxy that is not trusted", { forwardedIgnored: 3 }, "warning: requests arrive through a proxy, but TRUST_PROXY is off"],
  ["a clock that is ahead", { clockAhead: 31 }, "warning: its clock is 31 seconds ahead of"],
])("doctor finds %s", ([, observations, sentence]) => {
  expect(wrong(observations)).toEqual([expect.stringContaining(sentence)]);
});

test("metrics that cannot be read say nothing about a proxy", () => {
  expect(serviceFindings({ ...well, forwardedIgnored: undefined }).filter(({ sentence }) => sentence.includes("proxy"))).toEqual([]);
});

test("plain http is a fault, except on loopback", () => {
  const at = (url: string) => wrong({ url, metadata: { ...metadata, issuer: url }, openid: { issuer: url } });
  expect(at("http://login.example.test")).toEqual(["fault: it is reached over plain http"]);
  expect(at("http://localhost:3000")).toEqual([]);
});

test("a database that may forget what it acknowledged is a fault", () => {
  const durable = { fsync: "on", full_page_writes: "on", synchronous_commit: "on", server_version_num: "150018" };
  const faults = (settings: Record<string, string>) =>
    databaseFindings({ ...durable, ...settings }).filter(({ verdict }) => verdict === "fault").length;
  expect([faults({}), faults({ fsync: "off" }), faults({ synchronous_commit: "off" }), faults({ server_version_num: "140000" })]).toEqual([
    0, 1, 1, 1,
  ]);
});
