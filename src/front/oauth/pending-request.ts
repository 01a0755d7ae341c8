import type { PendingRequest, SignedIn } from "../../accounts/ports.ts";
import { csrfToken } from "../../accounts/sessions.ts";
import { hashSecret, newSecret, type RandomBytes, type SecretHash } from "../../random.ts";
import type { Cookies } from "../http/cookies.ts";
import type { FrontContext } from "../http/routes.ts";

/** Identifies a session without revealing its secret. */
const fingerprintOf = (session: string): string => csrfToken(session, "asked under").slice(0, 22);

/** A secret, and the fingerprint of the session that made the request. The hash of both is stored, so neither can be changed. */
export const newRequestId = (session: string | undefined, randomBytes: RandomBytes): string =>
  session === undefined ? newSecret(randomBytes) : `${newSecret(randomBytes)}.${fingerprintOf(session)}`;

/** The key of a pending request: its id and the secret of the browser that started it. */
export const waitingHash = (requestId: string, browser: string): SecretHash => hashSecret(`${requestId} ${browser}`);

/**
 * The secret that requests of this browser are bound to. A browser without one gets one; that of a signed-in user is derived from the
 * session, so that concurrent requests get the same.
 */
export function browserSecret(ctx: FrontContext, cookies: Cookies, randomBytes: RandomBytes): string {
  const session = cookies.session(ctx);
  const secret = cookies.visitor(ctx) ?? (session === undefined ? newSecret(randomBytes) : csrfToken(session, "browser"));
  cookies.startVisitor(ctx, secret);
  return secret;
}

export type KnownRequest = PendingRequest & { readonly requestId: string };

/**
 * Whether the user has signed in since the request was first seen. Times are whole seconds, so within one second only the fingerprint
 * distinguishes the new session from the one before. @param session the secret of the current session
 */
export const hasSignedInSince = ({ requestId, createdAt }: KnownRequest, signedIn: SignedIn | undefined, session: string | undefined) =>
  signedIn !== undefined &&
  session !== undefined &&
  signedIn.session.authTime >= createdAt &&
  !requestId.endsWith(`.${fingerprintOf(session)}`);
