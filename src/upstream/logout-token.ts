import { FetchFailure } from "../clients/guarded-fetch.ts";
import { isAssertionAlgorithm, type RemoteKeys } from "../clients/public-keys.ts";
import { verifyByRemoteKeys } from "../clients/published-keys.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { hasCome, isTime, type ParsedJwt, parseJws, parseObject } from "../protocol/jws.ts";
import type { Connection } from "./connection.ts";
import type { UpstreamLogout } from "./ports.ts";

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** Seconds that a token may be old, and by which clocks may differ. */
const MAX_AGE = 300;
const TOLERANCE = 30;

const refuse = (reason: string): never => {
  throw new Refusal("invalid_request", reason, { description: "This is no valid logout token for this server." });
};

const idOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" && value.length <= 255 ? value : undefined);

/** The session or user whose logout the claims report. Pure. @throws {Refusal} @see OpenID Connect Back-Channel Logout 1.0 §2.6 */
export function logoutOf({ jti, sub, sid, events, nonce }: ParsedJwt["claims"]): UpstreamLogout {
  const isLogout = typeof events === "object" && events !== null && EVENT in events;
  if (!isLogout || nonce !== undefined) refuse("logout_token_of_another_kind");
  const [id, subject, session] = [idOf(jti), idOf(sub), idOf(sid)];
  if (id === undefined || (subject === undefined && session === undefined)) return refuse("logout_token_malformed");
  return { jti: id, subject, sid: session, remember: MAX_AGE + TOLERANCE };
}

/** The parts of a token by an algorithm that is accepted. A header that names a key by itself changes nothing: only published keys count. */
function parsed(token: string): ParsedJwt {
  const jws = parseJws(token);
  const claims = jws && parseObject(jws.payload);
  if (claims === undefined || !isAssertionAlgorithm(jws?.header.alg) || "crit" in jws.header) return refuse("logout_token_invalid");
  return { ...jws, claims };
}

/** Whether the claims are of this issuer, for this client, and of now. Pure. @see OpenID Connect Back-Channel Logout 1.0 §2.6 */
function isCurrent({ iss, aud, iat, exp, nbf }: ParsedJwt["claims"], { issuer, clientId }: Parties, now: number): boolean {
  const isForClient = Array.isArray(aud) ? aud.includes(clientId) : aud === clientId;
  const isFresh = isTime(iat) && iat >= now - MAX_AGE - TOLERANCE && iat <= now + TOLERANCE;
  return iss === issuer && isForClient && isFresh && isTime(exp) && exp > now - TOLERANCE && hasCome(nbf, now + TOLERANCE);
}

type Parties = Pick<Connection, "issuer" | "clientId">;

/** Verifies a logout token of a provider. @throws {Refusal} invalid_request, temporarily_unavailable without the provider's keys */
export async function readLogoutToken(
  token: string,
  connection: Parties,
  { keys, clock }: { readonly keys: RemoteKeys; readonly clock: Clock },
): Promise<UpstreamLogout> {
  const jwt = parsed(token);
  const verdict = await verifyByRemoteKeys(jwt, connection.issuer, keys).catch((cause: unknown) => {
    if (cause instanceof FetchFailure) throw new Refusal("temporarily_unavailable", "upstream_unreachable", { retryAfter: 5, cause });
    throw cause;
  });
  if (verdict !== "valid" || !isCurrent(jwt.claims, connection, clock())) refuse("logout_token_invalid");
  return logoutOf(jwt.claims);
}
