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

/**
 * The principal that the claims of an access token describe. Pure; says nothing about the signature.
 * `client_id`, `jti` and `iat` may be missing, since not every issuer follows RFC 9068 to the end.
 * @param now whole seconds since the epoch
 * @throws {GuardRefusal} invalid_token
 * @see RFC 9068 §4, RFC 8693 §4.1, docs/protocol.md#access-tokens, docs/protocol.md#guard
 */
export function readPrincipal(claims: Claims, profile: ClaimProfile, now: number): Principal {
  const { iss, sub, client_id, scope, token_use } = claims;
  if (typeof iss !== "string" || !profile.issuers.has(iss)) throw refused("issuer_unknown");
  const audience = readAudience(claims.aud);
  if (!audience.some((value) => profile.audiences.has(value))) throw refused("audience_foreign");
  const expiresAt = readTime(claims, "exp");
  if (expiresAt === undefined) throw refused("expiry_missing");
  if (expiresAt <= now) throw refused("token_expired");
  if (Math.max(readTime(claims, "nbf") ?? 0, readTime(claims, "iat") ?? 0) > now + MAX_SKEW_SECONDS) throw refused("token_from_the_future");
  if (token_use !== undefined && token_use !== "access") throw refused("use_foreign");
  const jkt = readKey(claims.cnf);
  if (typeof sub !== "string" || sub === "") throw refused("subject_missing");
  if (client_id !== undefined && typeof client_id !== "string") throw refused("claim_malformed");
  if (scope !== undefined && typeof scope !== "string") throw refused("claim_malformed");
  const scopes = Object.freeze((scope ?? "").split(" ").filter((word) => word !== ""));
  const actors = readActors(claims.act);
  return Object.freeze({
    sub,
    clientId: client_id,
    scopes,
    actors,
    audience,
    expiresAt,
    issuer: iss,
    ...readSignIn(claims),
    ...(jkt && { jkt }),
  });
}

/** How and when the user signed in, as far as the claims say it. */
function readSignIn(claims: Claims): Pick<Principal, "acr" | "amr" | "authTime"> {
  const { acr, amr } = claims;
  const authTime = readTime(claims, "auth_time");
  if (acr !== undefined && typeof acr !== "string") throw refused("claim_malformed");
  if (amr !== undefined && !(Array.isArray(amr) && amr.every((method) => typeof method === "string"))) throw refused("claim_malformed");
  return { ...(acr && { acr }), ...(amr && { amr: Object.freeze([...amr]) }), ...(authTime !== undefined && { authTime }) };
}

/** The thumbprint of the key that a token is bound to (RFC 9449 §6.1). No other method of confirmation (RFC 7800 §3.1) can be checked here. */
function readKey(cnf: unknown): string | undefined {
  if (cnf === undefined) return undefined;
  if (typeof cnf !== "object" || cnf === null) throw refused("token_bound");
  const [member, ...others] = Object.entries(cnf).filter(([, value]) => value !== undefined && value !== "");
  if (member?.[0] !== "jkt" || typeof member[1] !== "string" || others.length > 0) throw refused("token_bound");
  return member[1];
}

function readAudience(aud: unknown): readonly string[] {
  const values: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!values.every((value) => typeof value === "string")) throw refused("claim_malformed");
  return Object.freeze(values);
}

function readTime(claims: Claims, name: "exp" | "nbf" | "iat" | "auth_time"): number | undefined {
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
