import { AgentError } from "./errors.ts";
import { base64url, nowInSeconds, randomId, sha256 } from "./jws.ts";
import type { TokenSource } from "./sources.ts";
import { type AccessToken, freshnessOf } from "./token-cache.ts";
import { accessTokenOf, type RequestToken } from "./token-endpoint.ts";
import { isTrustworthy } from "./urls.ts";

export interface SignInRequest {
  readonly resource: string;
  readonly scope?: string;
  /** Where the authorization server sends the user afterwards; registered for the client. */
  readonly redirectUri: string;
}

/** What a sign-in needs beside the request. */
export interface SignInPorts {
  readonly issuer: string;
  readonly clientId: string;
  readonly authorizationEndpoint: string | undefined;
  /** Whether the authorization server says that its responses name it. */
  readonly namesItself: boolean;
  /** The thumbprint of the agent's key where tokens are to be bound to it. */
  readonly thumbprint: string | undefined;
  readonly requestToken: RequestToken;
}

/** Begins an authorization request with PKCE. @throws {AgentError} invalid_response @see OAuth 2.1 §4.1, RFC 9207, RFC 9449 §10 */
export async function startSignIn(
  { resource, scope, redirectUri }: SignInRequest,
  { issuer, clientId, authorizationEndpoint, namesItself, thumbprint, requestToken }: SignInPorts,
) {
  if (authorizationEndpoint === undefined || !isTrustworthy(authorizationEndpoint))
    throw new AgentError("invalid_response", `the metadata of ${issuer} has no authorization endpoint that is https`);
  const state = randomId();
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const url = new URL(authorizationEndpoint);
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await sha256(verifier),
    code_challenge_method: "S256",
    resource,
    scope,
    dpop_jkt: thumbprint,
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  const redeem = async (code: string): Promise<TokenSource> => {
    const grant = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier, resource };
    const response = await requestToken({ grant, isBound: thumbprint !== undefined });
    const refreshToken = typeof response.refresh_token === "string" ? response.refresh_token : undefined;
    return signedInSource({
      requestToken,
      party: state,
      first: { resource, scope, token: accessTokenOf(response, scope) },
      refreshToken,
    });
  };
  let last: { readonly code: string; readonly source: Promise<TokenSource> } | undefined;
  return {
    /** The page to open in the user's browser. */
    url: url.href,
    /**
     * @param callback the URL to which the browser was sent, whole or as the target of the request
     * @throws {AgentError} sign_in_invalid, or what the server answered
     */
    async redeemed(callback: string | URL): Promise<TokenSource> {
      // The error of the URL class itself would show the code.
      if (!URL.canParse(String(callback), redirectUri)) throw new AgentError("sign_in_invalid", "the end of the sign-in is no URL");
      const code = codeIn(new URL(callback, redirectUri).searchParams, { state, issuer, namesItself });
      // A browser may load the callback again, and a server revokes the tokens of a code that it gets twice (OAuth 2.1 §4.1.3).
      if (last?.code === code) return last.source;
      const current = { code, source: redeem(code) };
      last = current;
      current.source.catch(() => {
        if (last === current) last = undefined;
      });
      return current.source;
    },
  };
}

/** The code of an authorization response. @throws {AgentError} @see RFC 9207 §2.4 */
function codeIn(
  parameters: URLSearchParams,
  { state, issuer, namesItself }: Pick<SignInPorts, "issuer" | "namesItself"> & { readonly state: string },
): string {
  const [error, code, from] = [parameters.get("error"), parameters.get("code"), parameters.get("iss")];
  if (parameters.get("state") !== state) throw new AgentError("sign_in_invalid", "the response is not for this sign-in: its state differs");
  if (from === null ? namesItself : from !== issuer)
    throw new AgentError("sign_in_invalid", "the response does not name the authorization server that was asked");
  const description = parameters.get("error_description") ?? undefined;
  if (error !== null) throw new AgentError(error, `${issuer} refused: ${error}`, { description });
  if (code === null) throw new AgentError("sign_in_invalid", "the response has no code");
  return code;
}

interface SignedIn {
  readonly requestToken: RequestToken;
  readonly party: string;
  readonly first: { readonly resource: string; readonly scope: string | undefined; readonly token: AccessToken };
  readonly refreshToken: string | undefined;
}

/** The user who signed in. A refresh token works once, so requests wait for each other. */
function signedInSource({ requestToken, party, first, refreshToken }: SignedIn): TokenSource {
  let unused: SignedIn["first"] | undefined = first;
  let current = refreshToken;
  let last: Promise<unknown> = Promise.resolve();
  const refreshed: TokenSource["request"] = async ({ resource, scope, isBound }) => {
    if (unused !== undefined && unused.resource === resource) {
      const { token } = unused;
      unused = undefined;
      if (freshnessOf(token, nowInSeconds()) !== "expired") return token;
    }
    if (current === undefined) throw new AgentError("credential_unavailable", "the sign-in has ended; the user has to sign in again");
    // Less may have been granted than the sign-in asked for, and a renewal must not ask for the rest again (RFC 6749 §6).
    const narrower = scope === first.scope ? undefined : scope;
    const response = await requestToken({
      grant: { grant_type: "refresh_token", refresh_token: current, resource, scope: narrower },
      isBound,
    });
    if (typeof response.refresh_token === "string") current = response.refresh_token;
    return accessTokenOf(response, narrower ?? first.token.scope);
  };
  return {
    party: Promise.resolve(`sign-in ${party}`),
    isBound: first.token.scheme === "DPoP",
    request(use) {
      const next = last.then(() => refreshed(use));
      last = next.catch(() => undefined);
      return next;
    },
  };
}
