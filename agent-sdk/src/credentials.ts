import { AgentError } from "./errors.ts";
import { claimsIn, importPrivateKey, type Jwk, type Key, noPrivateKey, nowInSeconds, randomId, signedJwt } from "./jws.ts";
import { assertNames } from "./options.ts";

/** To whom an agent proves who it is. */
export interface AuthenticationRequest {
  /** The authorization server; the audience of a token that the agent is to present. */
  readonly issuer: string;
  readonly clientId: string;
  /** `token_endpoint_auth_methods_supported`. */
  readonly methods: readonly string[];
}

/** What a token request carries to say which client sends it. */
export interface Authentication {
  readonly headers?: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string>>;
}

/** How an agent proves which client it is. */
export interface Credential {
  authenticate(request: AuthenticationRequest): Promise<Authentication>;
  /** The grant by which the agent gets tokens in its own name, where that is not `client_credentials`. It comes without client authentication. */
  grant?(request: AuthenticationRequest): Promise<Readonly<Record<string, string>>>;
}

/** Returns a token of the platform that the agent runs on, made for the audience `issuer`. Called for each token request. */
export type WorkloadTokenSource = (request: Pick<AuthenticationRequest, "issuer">) => string | Promise<string>;

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ASSERTION_SECONDS = 60;

/** A public client, which has no credential. */
export function publicClient(): Credential {
  return { authenticate: async ({ clientId }) => ({ parameters: { client_id: clientId } }) };
}

/** A client secret; by HTTP Basic unless the server takes it in the body alone. @throws {TypeError} when it is empty */
export function clientSecret(secret: string): Credential {
  if (typeof secret !== "string" || secret === "") throw new TypeError("the client secret must be a string that is not empty");
  return {
    async authenticate({ clientId, methods }) {
      if (methods.includes("client_secret_post") && !methods.includes("client_secret_basic"))
        return { parameters: { client_id: clientId, client_secret: secret } };
      const pair = new TextEncoder().encode(`${formEncoded(clientId)}:${formEncoded(secret)}`);
      return { headers: { authorization: `Basic ${btoa(String.fromCharCode(...pair))}` }, parameters: {} };
    },
  };
}

/** @see RFC 6749 §2.3.1 and appendix B */
const formEncoded = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);

/**
 * A private key (`private_key_jwt`): each token request carries a new assertion of 60 seconds, for the issuer alone.
 * @param key a CryptoKey that need not be extractable, a private JWK, or PKCS #8 in PEM
 * @throws {TypeError} when it is missing or none that signs, and for an unknown option
 * @see RFC 7523 §2.2
 */
export function privateKey(key: Key | Jwk | string, options: { readonly kid?: string; readonly alg?: string } = {}): Credential {
  if (key === "" || key === null || (typeof key !== "string" && typeof key !== "object")) throw noPrivateKey();
  if (key instanceof CryptoKey && !key.usages.includes("sign")) throw noPrivateKey();
  assertNames("privateKey", options, ["kid", "alg"]);
  let imported: Promise<Key> | undefined;
  const kid = options.kid ?? (key as Jwk).kid;
  return {
    async authenticate({ issuer, clientId }) {
      imported ??= key instanceof CryptoKey ? Promise.resolve(key) : importPrivateKey(key, options.alg);
      const signer = await imported;
      const iat = nowInSeconds();
      const claims = { iss: clientId, sub: clientId, aud: issuer, jti: randomId(), iat, exp: iat + ASSERTION_SECONDS };
      const assertion = await signedJwt(signer, { typ: "JWT", ...(kid !== undefined && { kid }) }, claims);
      return clientAssertion(clientId, assertion, "jwt-bearer");
    },
  };
}

export interface WorkloadOptions {
  /**
   * `client`, the default, authenticates the registered client with the token. `grant` sends it as the grant itself, without any client
   * credential (MCP workload identity federation, SEP-1933).
   */
  readonly use?: "client" | "grant";
}

/**
 * A token that the platform gives to the agent, in place of a secret. A SPIFFE JWT-SVID is recognised by its subject.
 * @throws {TypeError} for an unknown option
 */
export function workloadToken(source: WorkloadTokenSource, options: WorkloadOptions = {}): Credential {
  assertNames("workloadToken", options, ["use"]);
  const { use = "client" } = options;
  if (use !== "client" && use !== "grant") throw new TypeError('use of workloadToken must be "client" or "grant"');
  const tokenFor = async ({ issuer }: AuthenticationRequest): Promise<string> => {
    const token = await (async () => source({ issuer }))().catch((cause: unknown) => {
      // The message of any other error may contain the token.
      const reason = cause instanceof AgentError ? cause.message : "its source failed";
      throw new AgentError("credential_unavailable", `no workload token: ${reason}`, { cause });
    });
    if (typeof token === "string" && token.trim() !== "") return token.trim();
    throw new AgentError("credential_unavailable", "no workload token: its source returned nothing");
  };
  return {
    async authenticate(request) {
      const token = await tokenFor(request);
      return clientAssertion(request.clientId, token, isSvid(token) ? "jwt-spiffe" : "jwt-bearer");
    },
    ...(use === "grant" && { grant: async (request) => ({ grant_type: JWT_BEARER, assertion: await tokenFor(request) }) }),
  };
}

const clientAssertion = (clientId: string, assertion: string, type: "jwt-bearer" | "jwt-spiffe"): Authentication => ({
  parameters: { client_id: clientId, client_assertion_type: `${ASSERTION_TYPE}:${type}`, client_assertion: assertion },
});

const isSvid = (token: string): boolean => String(claimsIn(token)?.sub).startsWith("spiffe://");
