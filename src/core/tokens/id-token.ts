import type { VerifiedClaims } from "../signing/issued-tokens.ts";
import type { Subject } from "../token-state.ts";
import { isText } from "./claim-shapes.ts";

/** The claims of an ID token (docs/protocol.md#id-tokens). Times in seconds since the epoch. */
export interface IdTokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
  readonly exp: number;
  readonly iat: number;
  readonly auth_time: number;
  readonly nonce?: string;
  readonly name?: string;
  readonly email?: string;
  readonly email_verified?: true;
}

export interface IdTokenContents {
  readonly issuer: string;
  readonly subject: Subject;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly authTime: number;
  readonly nonce: string | null;
  /** Seconds since the epoch. */
  readonly now: number;
  /** Seconds. */
  readonly lifetime: number;
}

export function idTokenClaims({ issuer, subject, clientId, scopes, authTime, nonce, now, lifetime }: IdTokenContents): IdTokenClaims {
  const name = [subject.firstName, subject.lastName].filter((part) => part !== null && part !== "").join(" ");
  return {
    iss: issuer,
    sub: subject.userId,
    aud: clientId,
    exp: now + lifetime,
    iat: now,
    auth_time: authTime,
    ...(nonce !== null && { nonce }),
    ...(name !== "" && { name }),
    ...(scopes.includes("email") && subject.emailVerified && { email: subject.email, email_verified: true as const }),
  };
}

/** The claims of an ID token of this issuer that is sent back as a hint; undefined for claims of another shape. */
export const asIdTokenHint = ({ sub, aud }: VerifiedClaims): { readonly sub: string; readonly aud: string } | undefined =>
  isText(sub) && isText(aud) ? { sub, aud } : undefined;
