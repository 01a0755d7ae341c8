import type { PendingRequest, SignedIn } from "../../accounts/ports.ts";
import { csrfToken } from "../../accounts/sessions.ts";
import type { RandomBytes } from "../../clock.ts";
import { hashSecret, newSecret, type SecretHash } from "../../secret.ts";
import type { Cookies } from "../http/cookies.ts";
import type { FrontContext } from "../http/routes.ts";

/** Stands for a session without logging its secret. */
const markOf = (session: string): string => csrfToken(session, "asked under").slice(0, 22);

/**
 * The id by which pages know an authorization request that waits: a secret, and the mark of the session that was there when it was asked.
 * The id is stored as a hash of the whole, so that no mark can be put on or taken off.
 */
export const newRequestId = (session: string | undefined, randomBytes: RandomBytes): string =>
  session === undefined ? newSecret(randomBytes) : `${newSecret(randomBytes)}.${markOf(session)}`;

/** Where a request waits: it is found by its id together with the secret of the browser that began it, and by nothing less. */
export const waitingHash = (requestId: string, browser: string): SecretHash => hashSecret(`${requestId} ${browser}`);

/**
 * The secret of this browser, which its requests are bound to. A browser that has none is given one; that of a signed-in user is derived
 * from the session, so that requests that begin at the same time get the same.
 */
export function browserSecret(ctx: FrontContext, cookies: Cookies, randomBytes: RandomBytes): string {
  const session = cookies.session(ctx);
  const secret = cookies.visitor(ctx) ?? (session === undefined ? newSecret(randomBytes) : csrfToken(session, "browser"));
  cookies.startVisitor(ctx, secret);
  return secret;
}

/**
 * Whether the person has signed in since the request was first seen. Times are whole seconds, so that within one second only the mark
 * tells the new session from the one before.
 * @param session the secret of the session by which the person is signed in
 */
export const hasSignedInSince = (
  { requestId, createdAt }: PendingRequest & { readonly requestId: string },
  signedIn: SignedIn | undefined,
  session: string | undefined,
): boolean =>
  signedIn !== undefined && session !== undefined && signedIn.session.authTime >= createdAt && !requestId.endsWith(`.${markOf(session)}`);
