import { authenticationClaims, type StatedAuthentication } from "../../protocol/authentication-context.ts";
import type { Core } from "../ports.ts";
import type { Subject } from "../stored-grants.ts";
import { type AccessTokenContents, isText } from "./access-token.ts";

interface IdTokenContents extends Pick<AccessTokenContents, "issuer" | "clientId" | "scopes" | "now" | "lifetime"> {
  readonly subject: Subject;
  /** Seconds since the epoch. */
  readonly authTime: number;
  readonly nonce: string | null;
  /** For clients that are notified of its end. @see OpenID Connect Back-Channel Logout 1.0 §2.1 */
  readonly sid?: string | undefined;
  readonly authentication?: StatedAuthentication | null | undefined;
}

/** The claims of an ID token. @see docs/protocol.md#id-tokens, OIDC Core §2 */
export function idTokenClaims(token: IdTokenContents): object {
  const { subject, scopes, nonce, sid, authentication } = token;
  const name = [subject.firstName, subject.lastName].filter((part) => part !== null && part !== "").join(" ");
  return {
    iss: token.issuer,
    sub: subject.userId,
    aud: token.clientId,
    exp: token.now + token.lifetime,
    iat: token.now,
    auth_time: token.authTime,
    ...(nonce !== null && { nonce }),
    ...(sid !== undefined && { sid }),
    ...(authentication?.inIdToken && authenticationClaims(authentication)),
    ...(name !== "" && { name }),
    ...(scopes.includes("email") && subject.emailVerified && { email: subject.email, email_verified: true }),
  };
}

/** Subject, client, and session if named, of an ID token of this issuer, expired or not; undefined for other texts. @see OIDC Core §3.1.2.1 */
export function readIdTokenHint(token: string, { issuedTokens }: Pick<Core, "issuedTokens">) {
  const { sub, aud, sid } = issuedTokens.idToken(token) ?? {};
  return isText(sub) && isText(aud) ? { sub, aud, ...(isText(sid) && { sid }) } : undefined;
}

/** Lifetime in seconds of an assertion of this issuer; the subject token may shorten it. */
export const ASSERTION_LIFETIME = 300;

interface IdentityAssertionContents extends Omit<AccessTokenContents, "subject" | "audience" | "exchangedFrom"> {
  readonly subject: Subject;
  /** Issuer identifier of the other authorization server. */
  readonly audience: string;
  /** Resources of that server. */
  readonly resources: readonly string[];
  /** Seconds since the epoch of the user's real authentication. */
  readonly authTime: number;
}

/** The claims of an identity assertion for another authorization server. No `token_use`, so it is not an access token. @see ID-JAG §3 */
export function identityAssertionClaims(contents: IdentityAssertionContents): object {
  const { subject, resources, scopes, act } = contents;
  const [only, ...more] = resources;
  return {
    iss: contents.issuer,
    sub: subject.userId,
    aud: contents.audience,
    client_id: contents.clientId,
    jti: contents.jti,
    iat: contents.now,
    exp: contents.now + contents.lifetime,
    auth_time: contents.authTime,
    scope: scopes.join(" "),
    ...(only !== undefined && { resource: more.length === 0 ? only : resources }),
    ...(scopes.includes("email") && subject.emailVerified && { email: subject.email, email_verified: true }),
    ...(act && { act }),
    ...(contents.cnf && { cnf: contents.cnf }),
  };
}
