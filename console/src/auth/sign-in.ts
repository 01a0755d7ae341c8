import { ISSUER, PUSHED, patience } from "../environment.ts";
import { jwtPart } from "../jwt-part.ts";
import { type FlowClient, FlowError, newRequest, type Proof, redeem } from "./code-flow.ts";

/** The built-in client of the console (docs/protocol.md#console-sign-in). */
export const CONSOLE: FlowClient = {
  clientId: "countersign-console",
  redirectUri: `${ISSUER}/console/callback`,
  scope: "openid email server:manage",
  resource: ISSUER,
  pushed: PUSHED,
};

/** So that tokens say when and how the user signed in, for what needs a fresh proof (docs/protocol.md#fresh-proof). No session is so old. */
export const WITH_SIGN_IN_TIME = { max_age: String(365 * 86_400) } as const;

/** An access token, kept in memory alone. */
export interface AccessToken {
  readonly token: string;
  /** By performance.now(). */
  readonly expiresAt: number;
  /** Identifies the user. */
  readonly subject: string;
}

/** The subject of an ID token, which needs no proof when the token endpoint has sent it (OpenID Connect Core §3.1.3.7). */
const subjectOf = (idToken = ""): string => {
  const [, claims = ""] = idToken.split(".");
  return (jwtPart(claims) as { readonly sub: string }).sub;
};

/** @throws {FlowError} if the answer is an error, or belongs to another request */
export async function tokenOf(answer: URLSearchParams, proof: Proof): Promise<AccessToken> {
  const sent = performance.now();
  const { access_token: token, expires_in: lifetime, id_token: idToken } = await redeem(answer, CONSOLE, proof);
  return { token, expiresAt: sent + lifetime * 1000, subject: subjectOf(idToken) };
}

/**
 * A token without the user: the request is sent by script, follows its redirect within this origin, and the code is read from where it ends.
 * No page is left, so nothing that was typed is lost.
 * @returns undefined if the user has to sign in  @throws when the server does not answer, or cannot for now
 */
export async function signInSilently(): Promise<AccessToken | undefined> {
  const { proof, url } = await newRequest(CONSOLE, { prompt: "none", ...WITH_SIGN_IN_TIME });
  const answer = await fetch(url, { credentials: "same-origin", headers: { accept: "text/html" }, signal: patience() });
  await answer.body?.cancel();
  const arrived = new URL(answer.url);
  if (`${arrived.origin}${arrived.pathname}` !== CONSOLE.redirectUri) {
    if (answer.status >= 500) throw new FlowError("temporarily_unavailable");
    return undefined;
  }
  return tokenOf(arrived.searchParams, proof).catch((error: unknown) => {
    if (error instanceof FlowError && !error.isTransient) return undefined;
    throw error;
  });
}
