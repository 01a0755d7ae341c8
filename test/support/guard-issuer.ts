import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

/** A key pair of the test issuer; `jwk` is the published key. */
export interface IssuerKey {
  readonly kid: string;
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
}

export async function anIssuerKey(kid: string): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: "sig", alg: "EdDSA" } };
}

export interface TokenParts {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly key?: IssuerKey;
}

/** Signs an access token that is valid for `resource` except for the parts given; a part set to undefined is omitted. */
export async function signToken(issuer: string, resource: string, key: IssuerKey, parts: TokenParts = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: issuer,
    sub: "ada",
    aud: resource,
    client_id: "notebook",
    scope: "notes:read",
    iat: now,
    exp: now + 300,
    ...parts.claims,
  };
  const header = { alg: "EdDSA", typ: "at+jwt", kid: key.kid, ...parts.header };
  return new SignJWT(claims).setProtectedHeader(header).sign((parts.key ?? key).privateKey);
}

/** Starts a server on a free loopback port; `close` also ends kept-alive connections. */
export async function listen(server: Server): Promise<{ origin: string; close: () => Promise<void> }> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((done) => server.close(done));
    },
  };
}

/** A small authorization server with metadata and a JWK Set only. `documents` may be changed while it runs. */
export async function startIssuer() {
  const key = await anIssuerKey("first");
  const documents = new Map<string, { status?: number; headers?: Record<string, string>; body: string }>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    requests.push(path);
    const { status = 200, headers = {}, body } = documents.get(path) ?? { status: 404, body: "" };
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  });
  const { origin: issuer, close } = await listen(server);
  const publish = (...keys: readonly object[]) => documents.set("/keys", { body: JSON.stringify({ keys }) });
  documents.set("/.well-known/oauth-authorization-server", { body: JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }) });
  publish(key.jwk);
  return {
    issuer,
    key,
    documents,
    requests,
    publish,
    close,
    /** A token for a resource, valid except for the parts given. */
    token: (resource: string, parts?: TokenParts) => signToken(issuer, resource, key, parts),
  };
}
