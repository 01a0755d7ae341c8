import { expect, test } from "vitest";
import { connectionFindings, type Deployment, deploymentFindings } from "../../../src/cli/doctor/deployment.ts";
import { unsafeSettings } from "../../../src/compose/deployment.ts";

const NOW = Date.UTC(2026, 10, 22);
const DAY = 86_400_000;
const key = { kid: "k", jwk: {}, state: "signing", publishedAt: NOW - 10 * DAY, inUseAt: NOW } as const;
const correct: Omit<Deployment, "unsafe"> = {
  issuer: "https://id.example.test",
  environment: "production",
  signUp: "invited",
  trustProxy: true,
  callers: { requests: 900, oneAddress: false, proxyHeadersIgnored: 0 },
  mail: "smtp",
  postponedMails: 0,
  redis: true,
  certificates: [{ setting: "GRPC_TLS_CERT", expiresAt: NOW + 30 * DAY, soon: false }],
  database: {
    kind: "postgresql",
    settings: { fsync: "on", full_page_writes: "on", synchronous_commit: "on", server_version_num: "170002" },
  },
};
const judged = (deployment: Omit<Deployment, "unsafe">): Deployment => ({ ...deployment, unsafe: unsafeSettings(deployment) });
const problemsOf = (deployment: Partial<Deployment>, keys: Parameters<typeof deploymentFindings>[1] = [key]) =>
  deploymentFindings(judged({ ...correct, ...deployment }), keys, NOW)
    .filter(({ verdict }) => verdict !== "ok")
    .map(({ verdict, found, change }) => `${verdict}: ${found} -> ${change}`);

test("a correct deployment has no findings", () => {
  expect(problemsOf({})).toEqual([]);
});

test.for<[string, Partial<Deployment>, string]>([
  ["open sign-up", { signUp: "open" }, "warning: anyone may open an account -> set SIGN_UP="],
  ["mail that is written to files", { mail: "files" }, "fault: mails are written to files"],
  ["a mail that could not be sent", { postponedMails: 1 }, "fault: 1 mail could not be sent yet -> see mail_postponed"],
  ["mails that could not be sent", { postponedMails: 2 }, "fault: 2 mails could not be sent yet -> see mail_postponed"],
  ["the embedded database", { database: { kind: "embedded", settings: {} } }, "fault: data is in the embedded database"],
  ["no Redis", { redis: false }, "warning: each process counts rates on its own -> set REDIS_URL"],
  ["an issuer over plain http", { issuer: "http://id.example.test" }, "fault: its issuer is plain http"],
  [
    "an untrusted proxy",
    { trustProxy: false, callers: { requests: 9, oneAddress: true, proxyHeadersIgnored: 3 } },
    "warning: 3 requests came through a proxy, but TRUST_PROXY is off",
  ],
  ["a single caller", { callers: { requests: 50, oneAddress: true, proxyHeadersIgnored: 0 } }, "-> let the proxy set X-Forwarded-For"],
  [
    "a single caller without a trusted proxy",
    { trustProxy: false, callers: { requests: 50, oneAddress: true, proxyHeadersIgnored: 0 } },
    "and set TRUST_PROXY=true",
  ],
  [
    "a certificate that expires soon",
    { certificates: [{ setting: "GRPC_TLS_CERT", expiresAt: NOW + 3.5 * DAY, soon: true }] },
    "warning: the certificate of GRPC_TLS_CERT expires in 3 days -> replace it",
  ],
  [
    "a certificate that has expired",
    { certificates: [{ setting: "GRPC_TLS_CERT", expiresAt: NOW - DAY, soon: true }] },
    "fault: the certificate of GRPC_TLS_CERT has expired -> replace it",
  ],
  [
    "a database that may lose committed data",
    { database: { kind: "postgresql", settings: { ...correct.database.settings, fsync: "off" } } },
    "fault: PostgreSQL: fsync is off",
  ],
])("reports %s in production", ([, deployment, sentence]) => {
  expect(problemsOf(deployment)).toEqual([expect.stringContaining(sentence)]);
});

test("fewer than 50 requests from one address are not reported", () => {
  expect(problemsOf({ callers: { requests: 49, oneAddress: true, proxyHeadersIgnored: 0 } })).toEqual([]);
});

test("in development only proxies and keys are checked", () => {
  const trial = { environment: "development", signUp: "open", mail: "files", redis: false, issuer: "http://localhost:3000" } as const;
  const callers = { requests: 50, oneAddress: true, proxyHeadersIgnored: 0 };
  expect(problemsOf({ ...trial, callers, database: { kind: "embedded", settings: { fsync: "off" } } })).toEqual([]);
  expect(problemsOf({ ...trial, callers: { ...callers, proxyHeadersIgnored: 3 } })).toEqual([expect.stringContaining("through a proxy")]);
});

test("a key that is older than a year, or missing, is reported", () => {
  expect(problemsOf({}, [{ ...key, publishedAt: NOW - 366 * DAY }])).toEqual([
    "warning: the signing key k is 366 days old -> replace it: docs/keys.md",
  ]);
  expect(problemsOf({}, [key, { ...key, state: "withdrawn", publishedAt: 0 }])).toEqual([]);
  expect(problemsOf({}, [])).toEqual([expect.stringContaining("no core reports a key")]);
});

test("an identity provider that cannot be used is a fault, with what to do about it", () => {
  const tested = [
    { name: "google", works: true, stage: null, reason: null },
    { name: "okta", works: false, stage: "metadata", reason: "name_not_resolved" },
    { name: "entra", works: false, stage: "credentials", reason: "invalid_client" },
  ] as const;
  expect(connectionFindings(tested).map(({ verdict, found, change }) => [verdict, found, change])).toEqual([
    ["ok", "google: the provider can be used, and knows this server", undefined],
    ["fault", "okta: its metadata cannot be used (name_not_resolved)", "check the issuer: countersign connections show okta"],
    [
      "fault",
      "entra: it does not accept the client id and secret (invalid_client)",
      "check client id, secret and redirect URI at the provider",
    ],
  ]);
});
