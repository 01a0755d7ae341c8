import { expect, test } from "vitest";
import { type Deployment, deploymentFindings } from "../../../src/cli/doctor/deployment.ts";

const NOW = Date.UTC(2026, 10, 22);
const DAY = 86_400_000;
const key = { kid: "k", jwk: {}, state: "signing", publishedAt: NOW - 10 * DAY, inUseAt: NOW } as const;
const inOrder: Deployment = {
  issuer: "https://id.example.test",
  environment: "production",
  signUp: "invited",
  trustProxy: true,
  callers: { requests: 900, oneAddress: false, proxyHeadersIgnored: 0 },
  mail: "smtp",
  redis: true,
  database: {
    kind: "postgresql",
    settings: { fsync: "on", full_page_writes: "on", synchronous_commit: "on", server_version_num: "170002" },
  },
};
const wrong = (deployment: Partial<Deployment>, keys: Parameters<typeof deploymentFindings>[1] = [key]) =>
  deploymentFindings({ ...inOrder, ...deployment }, keys, NOW)
    .filter(({ verdict }) => verdict !== "ok")
    .map(({ verdict, found, change }) => `${verdict}: ${found} -> ${change}`);

test("a deployment in order has nothing wrong", () => {
  expect(wrong({})).toEqual([]);
});

test.for<[string, Partial<Deployment>, string]>([
  ["open sign-up", { signUp: "open" }, "warning: anyone may open an account -> set SIGN_UP="],
  ["mails in files", { mail: "files" }, "fault: mails are written to files"],
  ["the embedded database", { database: { kind: "embedded", settings: {} } }, "fault: data is in the embedded database"],
  ["no Redis", { redis: false }, "warning: each process counts rates on its own -> set REDIS_URL"],
  ["a plain issuer", { issuer: "http://id.example.test" }, "fault: its issuer is plain http"],
  [
    "an untrusted proxy",
    { trustProxy: false, callers: { requests: 9, oneAddress: true, proxyHeadersIgnored: 3 } },
    "warning: 3 requests came through a proxy, but TRUST_PROXY is off",
  ],
  ["one caller", { callers: { requests: 50, oneAddress: true, proxyHeadersIgnored: 0 } }, "-> let the proxy set X-Forwarded-For"],
  [
    "one caller without a trusted proxy",
    { trustProxy: false, callers: { requests: 50, oneAddress: true, proxyHeadersIgnored: 0 } },
    "and set TRUST_PROXY=true",
  ],
  [
    "a database that forgets",
    { database: { kind: "postgresql", settings: { ...inOrder.database.settings, fsync: "off" } } },
    "fault: PostgreSQL: fsync is off",
  ],
])("finds %s in production", ([, deployment, sentence]) => {
  expect(wrong(deployment)).toEqual([expect.stringContaining(sentence)]);
});

test("few requests from one address are not noteworthy", () => {
  expect(wrong({ callers: { requests: 49, oneAddress: true, proxyHeadersIgnored: 0 } })).toEqual([]);
});

test("in development only what concerns callers and keys is judged", () => {
  const trial = { environment: "development", signUp: "open", mail: "files", redis: false, issuer: "http://localhost:3000" } as const;
  expect(wrong({ ...trial, database: { kind: "embedded", settings: { fsync: "off" } } })).toEqual([]);
});

test("a key that has signed for more than a year is due for replacement", () => {
  expect(wrong({}, [{ ...key, publishedAt: NOW - 366 * DAY }])).toEqual([
    "warning: the signing key k is 366 days old -> replace it: docs/keys.md",
  ]);
  expect(wrong({}, [key, { ...key, state: "withdrawn", publishedAt: 0 }])).toEqual([]);
  expect(wrong({}, [])).toEqual([expect.stringContaining("no core reports a key")]);
});
