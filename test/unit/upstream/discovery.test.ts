import { afterEach, expect, test, vi } from "vitest";
import type { OutboundRequest } from "../../../src/clients/guarded-fetch.ts";
import { systemClock } from "../../../src/clock.ts";
import type { Connection } from "../../../src/upstream/connection.ts";
import { configurations, type ProviderPorts } from "../../../src/upstream/discovery.ts";

afterEach(() => vi.restoreAllMocks());

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
  const now = vi.spyOn(performance, "now");
  let release = 1;
  const tokenEndpoint = configuredAt(() => `${ISSUER}/token/${release}`);
  const seen: (string | undefined)[] = [];
  for (const minutes of [0, 6, 9, 12]) {
    now.mockReturnValue(1_000 + minutes * 60_000);
    seen.push(await tokenEndpoint());
    await new Promise((resolve) => setTimeout(resolve, 5)); // the cache reads the clock once in a millisecond
    release = 2;
  }
  expect(seen).toEqual([1, 1, 1, 2].map((version) => `${ISSUER}/token/${version}`));
});
