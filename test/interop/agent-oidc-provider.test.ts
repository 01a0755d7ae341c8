import { createServer } from "node:http";
import { agent, clientSecret, privateKey } from "@countersign/agent";
// @ts-expect-error the package has no types
import Provider from "oidc-provider";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { keyFor } from "../support/assertions.ts";
import { listen } from "../support/guard-issuer.ts";
import { smallResource } from "../support/small-resource.ts";

/** An authorization server of other authors, which demands nonces in proofs. */
async function startProvider(resource: string) {
  vi.spyOn(console, "warn").mockImplementation(() => undefined); // the package warns of its development pages
  vi.spyOn(console, "info").mockImplementation(() => undefined);
  const server = createServer();
  const { origin, close } = await listen(server);
  const client = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };
  const provider = new Provider(origin, {
    clients: [
      { ...client, client_id: "keyed", token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [key.jwk] } },
      { ...client, client_id: "secret: %", client_secret: "a secret: with + and %" },
    ],
    features: {
      clientCredentials: { enabled: true },
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1), requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: "notes:read",
          audience: resource,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    cookies: { keys: ["a key of the tests"] },
  });
  server.on("request", provider.callback());
  return { url: origin, close };
}

const key = keyFor("ES256", "k1", { use: "sig", alg: "ES256" });
let provider: Awaited<ReturnType<typeof startProvider>>;
let resource: Awaited<ReturnType<typeof smallResource>>;
beforeAll(async () => {
  resource = await smallResource(({ path, authorization }, origin) => {
    if (path.startsWith("/.well-known/")) return { json: { resource: origin, authorization_servers: [provider.url] } };
    const challenge = `DPoP algs="ES256", scope="notes:read", resource_metadata="${origin}/.well-known/oauth-protected-resource"`;
    return authorization === undefined ? { status: 401, headers: { "www-authenticate": challenge } } : {};
  });
  provider = await startProvider(resource.origin);
});
afterAll(async () => {
  await resource.close();
  await provider.close();
  vi.restoreAllMocks();
});

test.for([
  ["keyed", privateKey(key.privateKey.export({ format: "jwk" }), { kid: "k1" })],
  ["secret: %", clientSecret("a secret: with + and %")],
] as const)("oidc-provider issues a bound token to %s", async ([clientId, credential]) => {
  const mine = agent({ issuer: provider.url, clientId, credential });
  expect((await mine.fetch(`${resource.origin}/notes`)).status).toBe(200);
  const { authorization, proof } = resource.received.at(-1) ?? {};
  const [, payload = ""] = (authorization ?? "").split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  expect([authorization?.split(" ", 1)[0], claims.aud, claims.client_id, claims.scope]).toEqual([
    "DPoP",
    resource.origin,
    clientId,
    "notes:read",
  ]);
  expect([typeof claims.cnf.jkt, proof]).toEqual(["string", expect.any(String)]);
});
