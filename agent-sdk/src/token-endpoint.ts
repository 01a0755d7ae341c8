import type { Credential } from "./credentials.ts";
import { AgentError } from "./errors.ts";
import { type Fetch, fetchJson, type JsonResponse } from "./http.ts";
import type { IssuerMetadata } from "./issuer.ts";
import { nowInSeconds } from "./jws.ts";
import type { Prover } from "./proof.ts";
import type { AccessToken } from "./token-cache.ts";

/** The parameters of a grant. A member that is undefined is left out, one that is a list is sent as often as it has texts. */
export type GrantParameters = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface TokenRequest {
  readonly grant: GrantParameters;
  /** Whether the token is to be bound to the agent's key. */
  readonly isBound: boolean;
  /** Whether the grant itself is the credential. */
  readonly isAnonymous?: boolean;
}

export interface TokenEndpointPorts {
  readonly issuer: string;
  readonly clientId: string;
  readonly credential: Credential;
  readonly fetch: Fetch;
  readonly metadata: () => Promise<IssuerMetadata>;
  readonly prover: Prover;
}

export type TokenResponse = Readonly<Record<string, unknown>> & { readonly access_token: string };
/** Sends a token request. @throws {AgentError} with the error code of the server */
export type RequestToken = (request: TokenRequest) => Promise<TokenResponse>;

/** Seconds that a token is used of which the server does not say how long it lives. */
const UNSTATED_LIFE = 60;

/** The token endpoint of an authorization server, as one client uses it. */
export function tokenEndpoint({ issuer, clientId, credential, fetch, metadata, prover }: TokenEndpointPorts): RequestToken {
  const party = `token endpoint of ${issuer}`;
  /** Every attempt has a new assertion and a new proof: both work once. */
  const attempt = async ({ grant, isBound, isAnonymous = false }: TokenRequest): Promise<JsonResponse> => {
    const { tokenEndpoint: url, methods } = await metadata();
    const authentication = isAnonymous ? { parameters: {} } : await credential.authenticate({ issuer, clientId, methods });
    const headers = new Headers(authentication.headers);
    if (isBound) headers.set("dpop", await prover.prove({ method: "POST", url, party }));
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...grant, ...authentication.parameters }))
      for (const one of [value ?? []].flat()) body.append(name, one);
    return fetchJson(fetch, url, { method: "POST", headers, body });
  };
  return async (request) => {
    let response = await attempt(request);
    const hasNonce = prover.noted(party, response.headers);
    if (request.isBound && response.body?.error === "use_dpop_nonce" && hasNonce) {
      response = await attempt(request);
      prover.noted(party, response.headers);
    }
    const { status, body } = response;
    if (status === 200 && typeof body?.access_token === "string") return body as TokenResponse;
    throw refusal(issuer, response);
  };
}

function refusal(issuer: string, { status, headers, body }: JsonResponse): AgentError {
  const { error, error_description: described } = body ?? {};
  const retryAfter = secondsOf(headers.get("retry-after") ?? "");
  if (typeof error !== "string") {
    const code = status >= 500 ? "server_unreachable" : "invalid_response";
    return new AgentError(code, `${issuer} answered ${status} without a token`, { status, retryAfter });
  }
  const description = typeof described === "string" ? described : undefined;
  return new AgentError(error, `${issuer} refused: ${error}${description === undefined ? "" : ` (${description})`}`, {
    status,
    description,
    retryAfter,
  });
}

/** Seconds from now until the time of a `Retry-After`; undefined for none. @see RFC 9110 §10.2.3 */
function secondsOf(retryAfter: string): number | undefined {
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

const SCHEMES: readonly AccessToken["scheme"][] = ["Bearer", "DPoP"];
const TOKEN = /^[\x20-\x7e]+$/; // RFC 6749 appendix A.12

/**
 * The access token in a response.
 * @param requested the scope that it has where the response names none (RFC 6749 §5.1)
 * @throws {AgentError} invalid_response
 */
export function accessTokenOf(response: TokenResponse, requested: string | undefined, now = nowInSeconds()): AccessToken {
  const { access_token: value, token_type: type, expires_in: life, scope } = response;
  const scheme = SCHEMES.find((name) => name.toLowerCase() === String(type).toLowerCase());
  if (scheme === undefined) throw new AgentError("invalid_response", "the authorization server issued a token of an unknown type");
  // An error of the Headers class would show the token.
  if (!TOKEN.test(value)) throw new AgentError("invalid_response", "the authorization server issued a token that no header can carry");
  const seconds = typeof life === "number" && life > 0 ? life : UNSTATED_LIFE;
  return { value, scheme, scope: typeof scope === "string" ? scope : requested, issuedAt: now, expiresAt: now + seconds };
}
