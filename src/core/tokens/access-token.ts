import { MAX_ACTORS } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import { authenticationClaims, type StatedAuthentication } from "../../protocol/authentication-context.ts";
import { isUuid, type RandomBytes } from "../../random.ts";
import type { Confirmation, TokenReference, TokenState } from "../stored-grants.ts";

/** A chain of actors, the current one outermost (RFC 8693 §4.1). */
export type Actor = { readonly sub: string; readonly act?: Actor };

export type AncestorToken = Pick<AccessTokenClaims, "jti" | "client_id">;

/** The claims of an access token (docs/protocol.md#access-tokens, RFC 9068 §2.2). Times in seconds since the epoch. */
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
  /** The ancestors of an exchanged token, the nearest first: revoking one of them revokes this token. */
  readonly exchanged_from?: readonly AncestorToken[];
  readonly cnf?: Confirmation;
  /** How and when the user signed in, where the authorization request asked for it (RFC 9470 §6.1). */
  readonly acr?: string | undefined;
  readonly amr?: readonly string[] | undefined;
  readonly auth_time?: number | undefined;
  /** The only client that may act for the subject (RFC 8693 §4.4). */
  readonly may_act?: { readonly sub?: unknown };
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
  readonly act?: Actor | undefined;
  readonly exchangedFrom?: readonly AncestorToken[] | undefined;
  readonly cnf?: Confirmation | undefined;
  readonly signedIn?: SignInClaims | undefined;
}

export type SignInClaims = Pick<AccessTokenClaims, "acr" | "amr" | "auth_time">;

/** Empty where the authorization request did not ask. @param authTime seconds since the epoch */
export const signInClaims = (authentication: StatedAuthentication | null | undefined, authTime: number): SignInClaims =>
  authentication ? { ...authenticationClaims(authentication), auth_time: authTime } : {};

export function accessTokenClaims(token: AccessTokenContents): AccessTokenClaims {
  const [only, ...more] = token.audience;
  return {
    iss: token.issuer,
    sub: token.subject,
    aud: only !== undefined && more.length === 0 ? only : token.audience,
    client_id: token.clientId,
    scope: token.scopes.join(" "),
    iat: token.now,
    exp: token.now + token.lifetime,
    jti: token.jti,
    token_use: "access",
    ...(token.act && { act: token.act }),
    ...(token.exchangedFrom && { exchanged_from: token.exchangedFrom }),
    ...(token.cnf && { cnf: token.cnf }),
    ...token.signedIn,
  };
}

/** The id of an access token. That of a user's token contains its grant's id, so that it needs no row. @param grantId UUID */
export function newJti(randomBytes: RandomBytes, grantId?: string): string {
  if (grantId === undefined) return Buffer.from(randomBytes(16)).toString("base64url");
  return `${packed(grantId)}.${Buffer.from(randomBytes(12)).toString("base64url")}`;
}

/** The id of a client's own token: it names the client's record, because another client may get the client_id later. @param id UUID of the record */
export const ownJti = (randomBytes: RandomBytes, id: string): string => `${packed(id)}${newJti(randomBytes)}`;

/** The record's id in `ownJti`; earlier releases did not name it. */
const OWN = /^([A-Za-z0-9_-]{21}[AQgw])[A-Za-z0-9_-]{22}$/;

/** Replaces the grant in the id of a delegated token. A packed UUID has 22 characters, so the two cannot be confused. */
const DELEGATED = "d";

/** The id of the one token that a delegation is for. @param delegationId UUID */
export const delegationJti = (delegationId: string): string => `${DELEGATED}.${packed(delegationId)}`;

/** The ancestors of a token that is exchanged for this one. Undefined if this is a delegated token of a release that did not name them. */
export function ancestors({ jti, client_id, exchanged_from: above }: AccessTokenClaims): readonly AncestorToken[] | undefined {
  const delegated = jti.startsWith(`${DELEGATED}.`);
  if (delegated && above === undefined) return undefined;
  return [{ jti, client_id }, ...(delegated && above !== undefined ? above : [])];
}

/** The form of an id in a `jti`. */
export const packed = (uuid: string): string => Buffer.from(uuid.replaceAll("-", ""), "hex").toString("base64url");

function unpacked(text: string): string {
  const hex = Buffer.from(text, "base64url").toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const absentOr = (value: unknown, isWellFormed: (value: unknown) => boolean): boolean => value === undefined || isWellFormed(value);

/** The claims of an access token, or undefined for claims of another kind or shape. */
export function asAccessToken(claims: Readonly<Record<string, unknown>>): AccessTokenClaims | undefined {
  const { sub, aud, client_id, scope, iat, exp, jti, token_use, act, exchanged_from, cnf, may_act, acr, amr, auth_time } = claims;
  const wellFormed =
    token_use === "access" &&
    isReference(jti, sub, DELEGATED) &&
    isText(client_id) &&
    isScope(scope) &&
    isAudience(aud) &&
    isTime(iat) &&
    isTime(exp) &&
    absentOr(act, isActor) &&
    absentOr(exchanged_from, isAncestry) &&
    absentOr(cnf, isConfirmation) &&
    absentOr(may_act, isObject) &&
    absentOr(acr, isText) &&
    absentOr(amr, (value) => Array.isArray(value) && value.every(isText)) &&
    absentOr(auth_time, isTime);
  // Each member has just been checked.
  return wellFormed ? (claims as unknown as AccessTokenClaims) : undefined;
}

/** A token bound by DPoP is presented with a proof, all others as bearer tokens (RFC 9449 §5, RFC 8705 §3). */
export const tokenTypeOf = (cnf: Confirmation | undefined): "DPoP" | "Bearer" => (cnf?.jkt === undefined ? "Bearer" : "DPoP");

export const audienceList = (claims: AccessTokenClaims): readonly string[] => (typeof claims.aud === "string" ? [claims.aud] : claims.aud);

/** The records that decide the state of a token: its delegation, its grant, or for a client's own token the client alone. */
export function tokenReference({ jti, client_id: clientId, sub: userId }: AccessTokenClaims): TokenReference {
  const [first, second] = jti.split(".");
  if (first === undefined || second === undefined) {
    const record = OWN.exec(jti)?.[1];
    return { jti, clientId, ...(record !== undefined && { clientRecord: unpacked(record) }) };
  }
  if (first === DELEGATED) return { jti, clientId, userId, delegationId: unpacked(second) };
  return { jti, clientId, userId, grantId: unpacked(first) };
}

/** Whether a token has expired, by the clock of the database that its state was read from. Pure. */
export const hasExpired = (claims: AccessTokenClaims, state: TokenState): boolean => claims.exp <= state.now;

/** Whether token, grant, client, user and all ancestor tokens are neither revoked nor disabled. Pure. */
export const stateHolds = (claims: AccessTokenClaims, state: TokenState): boolean => {
  const hasUser = claims.jti.includes("."); // as in tokenReference
  return !state.revoked && state.clientEnabled && (!hasUser || (state.grantLives && state.subject?.enabled === true));
};

// The shapes that claims must have before they are used: a signature proves that this issuer wrote a token, not that this release did.

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Text that a column can hold: not empty, without NUL or lone surrogates. */
export const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && !value.includes("\0") && value.isWellFormed();

/** Scope tokens separated by spaces; empty for a token without any scope (RFC 6749 §3.3). */
const isScope = (value: unknown): value is string => typeof value === "string" && /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/.test(value);

/** The end of the year 9999, the last date that every database can write. */
const LAST_SECOND = 253_402_300_799;

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= LAST_SECOND;

const isAudience = (value: unknown): value is string | readonly string[] =>
  isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText));

/** A confirmation by a method that this release knows (RFC 9449 §6.1, RFC 8705 §3.1). */
const isConfirmation = (value: unknown): boolean => isObject(value) && [value.jkt, value["x5t#S256"]].filter(isText).length === 1;

function isActor(value: unknown): boolean {
  for (let actor: unknown = value; actor !== undefined; actor = actor.act) {
    if (!isObject(actor) || !isText(actor.sub)) return false;
  }
  return value !== undefined;
}

/** 16 bytes in base64url: a packed UUID, or random ones. */
const PACKED = /^[A-Za-z0-9_-]{21}[AQgw]$/;
const RANDOM = /^[A-Za-z0-9_-]{16}$/;

/**
 * Whether jti and sub are those of a client's own token, a user's token with its grant, or a delegated token.
 * @param delegated the first part of a delegated token's jti
 */
function isReference(jti: unknown, sub: unknown, delegated: string): boolean {
  if (!isText(jti) || !isText(sub)) return false;
  const [first = "", second, ...more] = jti.split(".");
  if (second === undefined) return true;
  const wellFormed = first === delegated ? PACKED.test(second) : PACKED.test(first) && RANDOM.test(second);
  return wellFormed && more.length === 0 && isUuid(sub);
}

const isAncestry = (value: unknown): boolean =>
  Array.isArray(value) && value.every((entry) => isObject(entry) && isText(entry.jti) && isText(entry.client_id));

/** Lists the client ids of a chain, the current actor first. */
export function actorsOf(act: Actor | undefined): readonly string[] {
  const actors: string[] = [];
  for (let actor = act; actor !== undefined; actor = actor.act) actors.push(actor.sub);
  return actors;
}

/**
 * Adds an actor to a chain as its outermost.
 * @param chain undefined for a token without actors
 * @throws {Refusal} invalid_request when there would be more than four
 * @see RFC 8693 §4.1, docs/protocol.md#token-exchange-rules
 */
export function appendActor(chain: Actor | undefined, clientId: string): Actor {
  if (actorsOf(chain).length >= MAX_ACTORS)
    throw new Refusal("invalid_request", "too_many_actors", {
      description: `A chain has at most ${MAX_ACTORS} actors: exchange a token that passed through fewer agents.`,
    });
  return chain === undefined ? { sub: clientId } : { sub: clientId, act: chain };
}

/**
 * Seconds that a derived token lives: never longer than the token that it is derived from.
 * @param configured seconds  @param endsAt seconds since the epoch  @param now seconds since the epoch
 * @see docs/protocol.md#token-exchange
 */
export const tokenLifetime = (configured: number, endsAt: number, now: number): number => Math.min(configured, endsAt - now);
