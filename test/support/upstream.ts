import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { jws, keyFor, type TestKey } from "./assertions.ts";

/** How an identity provider answers; what is left out is honest. */
export interface Answer {
  /** Claims of the ID token that are added or replaced. */
  readonly claims?: object;
  /** Claims of the user information. */
  readonly userinfo?: object;
  /** Parameters of the authorization response that are added or replaced. */
  readonly response?: Readonly<Record<string, string>>;
  readonly signedBy?: TestKey;
  /** Makes the ID token. */
  readonly idToken?: (claims: object, key: TestKey) => string;
  /** Bytes of padding in the token response. */
  readonly padding?: number;
  readonly status?: number;
  /** Never answers the token request. */
  readonly silent?: true;
}

interface Pending {
  readonly query: URLSearchParams;
  readonly answer: Answer;
  readonly subject: string;
}

const bodyOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
};

const challengeOf = (verifier: string): string => createHash("sha256").update(verifier).digest("base64url");

/** An OpenID Connect provider on this machine, which lies where a test says so. Its client is `us` with the secret `upstream-secret`. */
export async function startUpstream() {
  const key = keyFor("ES256", "upstream-key");
  /** The keys that it publishes. */
  const provider: { keys: readonly object[] } = { keys: [key.jwk] };
  const codes = new Map<string, Pending>();
  const tokens = new Map<string, Pending>();
  let url = "";

  const send = (response: ServerResponse, body: object, status = 200) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

  const metadata = () => ({
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    userinfo_endpoint: `${url}/userinfo`,
    jwks_uri: `${url}/keys`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256", "HS256", "none"],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
  });

  async function token(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const form = await bodyOf(request);
    if (decodeURIComponent(atob(request.headers.authorization?.slice("Basic ".length) ?? "")) !== "us:upstream-secret")
      return send(response, { error: "invalid_client" }, 401);
    const pending = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    if (!pending || challengeOf(form.get("code_verifier") ?? "") !== pending.query.get("code_challenge"))
      return send(response, { error: "invalid_grant" }, 400);
    const { answer, query, subject } = pending;
    if (answer.silent) return undefined;
    const now = Math.floor(Date.now() / 1000);
    const honest = { iss: url, aud: "us", sub: subject, iat: now, exp: now + 60, auth_time: now, nonce: query.get("nonce") };
    const { signedBy = key, idToken = (claims) => jws(claims, signedBy, { kid: "upstream-key" }) } = answer;
    const accessToken = randomUUID();
    tokens.set(accessToken, pending);
    return send(
      response,
      {
        access_token: accessToken,
        token_type: "Bearer",
        id_token: idToken({ ...honest, ...answer.claims }, signedBy),
        ...(answer.padding && { padding: "x".repeat(answer.padding) }),
      },
      answer.status,
    );
  }

  const server = createServer((request, response) => {
    if (request.url === "/.well-known/openid-configuration") send(response, metadata());
    else if (request.url === "/keys") send(response, { keys: provider.keys });
    else if (request.url === "/token") void token(request, response);
    else if (request.url === "/userinfo") {
      const pending = tokens.get(request.headers.authorization?.slice("Bearer ".length) ?? "");
      send(response, { sub: pending?.subject, ...pending?.answer.userinfo });
    } else send(response, {}, 404);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://localhost:${(server.address() as AddressInfo).port}`;

  return Object.assign(provider, {
    url,
    key,
    /** The user signs in at the provider. @param location where the browser was sent  @returns the path to which it comes back */
    signIn(location: string, subject: string, answer: Answer = {}): string {
      const query = new URL(location).searchParams;
      const code = randomUUID();
      codes.set(code, { query, answer, subject });
      const back = new URL(query.get("redirect_uri") ?? "");
      const members = { code, state: query.get("state") ?? "", iss: url, ...answer.response };
      for (const [name, value] of Object.entries(members)) back.searchParams.set(name, value);
      return back.pathname + back.search;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
}

export type Upstream = Awaited<ReturnType<typeof startUpstream>>;
