import type { RandomBytes } from "../../clock.ts";
import { printScope } from "../../protocol/scope.ts";
import type { TokenReference } from "../ports.ts";
import type { VerifiedClaims } from "../signing/own-tokens.ts";

/** An actor and whom it acts for in turn, the current one outermost (RFC 8693 §4.1). */
export interface Actor {
  readonly sub: string;
  readonly act?: Actor;
}

/** The claims of an access token (specification §2.7, RFC 9068 §2.2). Times in seconds since the epoch. */
export interface AccessTokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string | readonly string[];
  readonly client_id: string;
  readonly scope: string;
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  readonly token_use: "access";
  readonly act?: Actor;
}

export interface AccessTokenContents {
  readonly issuer: string;
  readonly subject: string;
  readonly audience: readonly string[];
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly jti: string;
  /** Seconds since the epoch. */
  readonly now: number;
  /** Seconds. */
  readonly lifetime: number;
}

export function accessTokenClaims(token: AccessTokenContents): AccessTokenClaims {
  const [only, ...more] = token.audience;
  return {
    iss: token.issuer,
    sub: token.subject,
    aud: only !== undefined && more.length === 0 ? only : token.audience,
    client_id: token.clientId,
    scope: printScope(token.scopes),
    iat: token.now,
    exp: token.now + token.lifetime,
    jti: token.jti,
    token_use: "access",
  };
}

/**
 * An id for an access token. A user's token carries its grant's id in it, so that it dies with its grant without a row of its own.
 * @param grantId UUID
 */
export function newJti(randomBytes: RandomBytes, grantId?: string): string {
  if (grantId === undefined) return Buffer.from(randomBytes(16)).toString("base64url");
  return `${Buffer.from(grantId.replaceAll("-", ""), "hex").toString("base64url")}.${Buffer.from(randomBytes(12)).toString("base64url")}`;
}

function grantIdOf(jti: string): string | undefined {
  const [encoded, serial] = jti.split(".");
  if (encoded === undefined || serial === undefined) return undefined;
  const hex = Buffer.from(encoded, "base64url").toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const isTime = (value: unknown): value is number => Number.isSafeInteger(value);

const isAudience = (value: unknown): value is string | readonly string[] =>
  typeof value === "string" || (Array.isArray(value) && value.length > 0 && value.every((entry) => typeof entry === "string"));

/** The claims as those of an access token, or undefined where they are not: the signature alone makes no access token. */
export function asAccessToken(claims: VerifiedClaims): AccessTokenClaims | undefined {
  const { sub, aud, client_id, scope, iat, exp, jti, token_use } = claims;
  const wellFormed =
    token_use === "access" &&
    [sub, client_id, scope, jti].every((value) => typeof value === "string") &&
    isAudience(aud) &&
    isTime(iat) &&
    isTime(exp);
  // Each member has just been checked.
  return wellFormed ? (claims as unknown as AccessTokenClaims) : undefined;
}

export const audienceList = (claims: AccessTokenClaims): readonly string[] => (typeof claims.aud === "string" ? [claims.aud] : claims.aud);

/** What the state of this token hangs on. */
export function tokenReference(claims: AccessTokenClaims): TokenReference {
  const grantId = grantIdOf(claims.jti);
  const own = { jti: claims.jti, clientId: claims.client_id };
  return grantId === undefined ? own : { ...own, grantId, userId: claims.sub };
}
