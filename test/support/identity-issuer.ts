import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { jws, keyFor, type TestKey } from "./assertions.ts";

export interface IdentityIssuer {
  /** Its issuer identifier, an http URL on this machine. */
  readonly url: string;
  readonly key: TestKey;
  /** Paths of the requests so far. */
  readonly asked: readonly string[];
  /** Members that are added to the discovery document, or replaced in it. */
  discovery: object;
  keys: readonly object[];
  /** An assertion that is valid for this audience and client, except for the changes in `claims` and `header`. */
  assertion(audience: string, clientId: string, claims?: object, header?: object, by?: TestKey): string;
  close(): Promise<void>;
}

/** An identity provider that publishes its keys by OpenID Connect discovery. */
export async function identityIssuer(): Promise<IdentityIssuer> {
  const key = keyFor("EdDSA", "issuer-key");
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const document =
      request.url === "/.well-known/openid-configuration"
        ? { issuer: issuer.url, jwks_uri: `${issuer.url}/keys`, ...issuer.discovery }
        : request.url === "/keys" && { keys: issuer.keys };
    response.writeHead(document ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(document || {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer: IdentityIssuer = {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    key,
    asked,
    discovery: {},
    keys: [key.jwk],
    assertion(audience, clientId, claims = {}, header = {}, by = key) {
      const now = Math.floor(Date.now() / 1000);
      const good = {
        iss: issuer.url,
        sub: "employee-7",
        aud: audience,
        client_id: clientId,
        jti: randomUUID(),
        iat: now,
        exp: now + 120,
        scope: "crm:read",
        resource: "https://crm.example.test/mcp",
      };
      return jws({ ...good, ...claims }, by, { typ: "oauth-id-jag+jwt", kid: by.jwk.kid, ...header });
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return issuer;
}
