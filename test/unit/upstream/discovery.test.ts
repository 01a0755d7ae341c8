import { createServer } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { FetchFailure, type OutboundRequest } from "../../../src/clients/guarded-fetch.ts";
import { systemClock } from "../../../src/clock.ts";
import { guardedFetch } from "../../../src/outside/guarded-fetch.ts";
import type { Connection } from "../../../src/upstream/connection.ts";
import { configurations, type ProviderPorts } from "../../../src/upstream/discovery.ts";
import { providers } from "../../../src/upstream/provider.ts";
import { listen } from "../../support/guard-issuer.ts";

const ISSUER = "https://login.example.test";
const CONNECTION: Connection = {
  ...{ id: "c", realmId: "r", name: "acme", protocol: "oidc", issuer: ISSUER, authMethod: "none", secret: null, publicKey: null },
  ...{ title: "Acme", clientId: "us", scopes: ["openid"], domains: [], trustsAcr: false, enabled: true, createdAt: 0, updatedAt: null },
};

/** A provider whose metadata names the token endpoint that `endpoint` returns. */
function configuredAt(endpoint: () => string) {
  const send = async (_: OutboundRequest) => {
    const metadata = { issuer: ISSUER, token_endpoint: endpoint() };
    return { status: 200, headers: { "content-type": "application/json" }, body: Buffer.from(JSON.stringify(metadata)) };
  };
  const ports: Partial<ProviderPorts> = { fetch: { send }, clock: systemClock, plainLoopback: false };
  const { configured } = configurations(ports as ProviderPorts);
  return async () => (await configured(CONNECTION)).serverMetadata().token_endpoint;
}

test("the metadata of a provider is read again after ten minutes, however often users sign in by it", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  let release = 1;
  const tokenEndpoint = configuredAt(() => `${ISSUER}/token/${release}`);
  const seen: (string | undefined)[] = [];
  for (const minutes of [0, 6, 3, 3]) {
    vi.setSystemTime(Date.now() + minutes * 60_000);
    seen.push(await tokenEndpoint());
    release = 2;
  }
  expect(seen).toEqual([1, 1, 1, 2].map((version) => `${ISSUER}/token/${version}`));
});

test("a provider that is silent does not keep users from signing in by another one", async () => {
  const metadata = (issuer: string) => JSON.stringify({ issuer, token_endpoint: `${issuer}/token` });
  const silent = await listen(createServer(() => undefined));
  const other = await listen(
    createServer((_, response) => response.setHeader("content-type", "application/json").end(metadata(other.origin))),
  );
  onTestFinished(async () => void (await Promise.all([silent.close(), other.close()])));
  const fetch = guardedFetch({ ownUrl: "http://localhost:1", loopbackAllowed: true, plainLoopback: true });
  const ports: Partial<ProviderPorts> = { fetch, clock: systemClock, plainLoopback: true };
  const { configured } = configurations(ports as ProviderPorts);
  const users = Array.from({ length: 100 }, () => configured({ ...CONNECTION, issuer: silent.origin }));
  const waiting = Promise.allSettled(users);
  const { issuer } = (await configured({ ...CONNECTION, id: "other", issuer: other.origin })).serverMetadata();
  expect(issuer).toBe(other.origin);
  await silent.close();
  expect((await waiting).map(({ status }) => status)).toEqual(users.map(() => "rejected"));
});

test("a provider that could not be reached is asked again after five seconds", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const send = vi.fn(async () => Promise.reject(new FetchFailure("unreachable")));
  const { configured } = configurations({
    fetch: { send },
    clock: systemClock,
    plainLoopback: false,
  } as Partial<ProviderPorts> as ProviderPorts);
  const counts: number[] = [];
  for (const seconds of [0, 4, 2]) {
    vi.setSystemTime(Date.now() + seconds * 1_000);
    await expect(configured(CONNECTION)).rejects.toThrow();
    counts.push(send.mock.calls.length);
  }
  expect(counts).toEqual([1, 1, 2]);
});

test.for([
  [503, "temporarily_unavailable", "upstream_unreachable"],
  [429, "temporarily_unavailable", "upstream_unreachable"],
  [401, "access_denied", "upstream_refused"],
] as const)("GitHub that answers %i for the profile of a user: %s", async ([status, code, reason]) => {
  const send = async ({ url }: OutboundRequest) => {
    const isToken = url === "https://github.com/login/oauth/access_token";
    const body = Buffer.from(JSON.stringify({ access_token: "t", token_type: "bearer" }));
    return { status: isToken ? 200 : status, headers: { "content-type": "application/json" }, body };
  };
  const ports: Partial<ProviderPorts> = { fetch: { send }, clock: systemClock, plainLoopback: false };
  const github: Connection = { ...CONNECTION, protocol: "github", issuer: "https://github.com" };
  const arrived = new URL("https://id.example.test/signin/github/callback?code=c&state=s");
  const proven = providers(ports as ProviderPorts).identityOf(github, arrived, { state: "s", nonce: "n", verifier: "v".repeat(43) });
  await expect(proven).rejects.toMatchObject({ code, reason });
});
