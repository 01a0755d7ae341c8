import type { Subject } from "../token-state.ts";
import type { AccessTokenContents } from "./access-token.ts";

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
