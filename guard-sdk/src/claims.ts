import type { Principal } from "./principal.ts";
import { GuardRefusal } from "./refusal.ts";

/** Seconds by which the clock of an issuer may be ahead of this machine's. Expiry has no grace: a client can refresh. */
const MAX_SKEW_SECONDS = 60;
/** Deeper than any issuer should nest actors; Countersign stops at 4 (docs/protocol.md#limits). */
const MAX_ACTORS = 10;

type Claims = Readonly<Record<string, unknown>>;

/** What the claims of a token are compared with. */
export interface ClaimProfile {
  readonly issuers: ReadonlySet<string>;
  /** The spellings of this resource that count as itself. */
  readonly audiences: ReadonlySet<string>;
}

/** A key whose possession a request has proved: by DPoP or by mutual TLS. */
export interface Confirmation {
  /** JWK thumbprint (RFC 9449 §6.1). */
  readonly jkt?: string;
  /** Certificate thumbprint (RFC 8705 §3.1). */
  readonly "x5t#S256"?: string;
}

/**
 * The principal that the claims of an access token describe. Pure; says nothing about the signature.
 * `client_id`, `jti` and `iat` may be missing, since not every issuer follows RFC 9068 to the end.
 * @param now whole seconds since the epoch
 * @param proven the key whose possession the request has proved; a token that is bound to another key, or to any without proof, is refused
 * @throws {GuardRefusal} invalid_token
 * @see RFC 9068 §4, RFC 8693 §4.1, docs/protocol.md#access-tokens, docs/protocol.md#guard
 */
export function readPrincipal(claims: Claims, profile: ClaimProfile, now: number, proven?: Confirmation): Principal {
  const { iss, sub, client_id, scope, token_use } = claims;
  if (typeof iss !== "string" || !profile.issuers.has(iss)) throw refused("issuer_unknown");
  const audience = readAudience(claims.aud);
  if (!audience.some((value) => profile.audiences.has(value))) throw refused("audience_foreign");
  const expiresAt = readTime(claims, "exp");
  if (expiresAt === undefined) throw refused("expiry_missing");
  if (expiresAt <= now) throw refused("token_expired");
  if (Math.max(readTime(claims, "nbf") ?? 0, readTime(claims, "iat") ?? 0) > now + MAX_SKEW_SECONDS) throw refused("token_from_the_future");
  if (token_use !== undefined && token_use !== "access") throw refused("use_foreign");
  if (claims.cnf !== undefined && !isProven(claims.cnf, proven)) throw refused("token_bound");
  if (typeof sub !== "string" || sub === "") throw refused("subject_missing");
  if (client_id !== undefined && typeof client_id !== "string") throw refused("claim_malformed");
  if (scope !== undefined && typeof scope !== "string") throw refused("claim_malformed");
  const scopes = Object.freeze((scope ?? "").split(" ").filter((word) => word !== ""));
  return Object.freeze({ sub, clientId: client_id, scopes, actors: readActors(claims.act), audience, expiresAt, issuer: iss });
}

/** Whether the key that a token is bound to (RFC 7800 §3.1) is the proven one. A method of confirmation that is not known proves nothing. */
function isProven(cnf: unknown, proven: Confirmation | undefined): boolean {
  if (typeof cnf !== "object" || cnf === null || proven === undefined) return false;
  const members = Object.entries(cnf).filter(([, value]) => value !== undefined && value !== "");
  return members.length === 1 && members.every(([name, value]) => Object.hasOwn(proven, name) && Reflect.get(proven, name) === value);
}

function readAudience(aud: unknown): readonly string[] {
  const values: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!values.every((value) => typeof value === "string")) throw refused("claim_malformed");
  return Object.freeze(values);
}

function readTime(claims: Claims, name: "exp" | "nbf" | "iat"): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (!Number.isSafeInteger(value)) throw refused("claim_malformed");
  return value as number; // a safe integer by the line above
}

/** An unreadable actor claim refuses the token: ignoring it would present an agent as the user. */
function readActors(act: unknown): readonly string[] {
  const actors: string[] = [];
  for (let actor = act; actor !== undefined; actor = (actor as { act?: unknown }).act) {
    if (typeof actor !== "object" || actor === null || actors.length === MAX_ACTORS) throw refused("actors_malformed");
    const { sub } = actor as { sub?: unknown };
    if (typeof sub !== "string" || sub === "") throw refused("actors_malformed");
    actors.push(sub);
  }
  return Object.freeze(actors);
}

const refused = (reason: string) => new GuardRefusal("invalid_token", reason);
