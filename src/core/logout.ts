import type { Client } from "../clients/client.ts";
import { FetchFailure, type GuardedSend } from "../clients/guarded-fetch.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";
import type { ValidateLogoutRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { newSecret, type RandomBytes } from "../random.ts";
import type { Log } from "../telemetry/log.ts";
import type { Core } from "./ports.ts";
import { signJwt } from "./signing/jws.ts";
import { idTokenKey, type Keys } from "./signing/key-ring.ts";
import { readIdTokenHint } from "./tokens/id-token.ts";

const refuse = (reason: string, description: string): never => {
  throw new Refusal("invalid_request", reason, { description });
};

/**
 * Finds whom a client asks to sign out, by an ID token that was issued to it and may have expired, and where the user may be redirected.
 * @throws {Refusal} invalid_request for a text that is not an ID token of this issuer, one of another client, or an unregistered address
 * @see OpenID Connect RP-Initiated Logout §2 and §3
 */
export async function validateLogout({ idTokenHint, clientId, postLogoutRedirectUri }: ValidateLogoutRequest, core: Core) {
  const hint = readIdTokenHint(idTokenHint, core);
  if (hint === undefined) return refuse("id_token_hint_invalid", "id_token_hint is not an ID token of this issuer.");
  const { sub, aud, sid } = hint;
  const hinted = { hintedSub: sub, ...(sid !== undefined && { hintedSession: sid }) };
  if (clientId !== undefined && clientId !== aud) refuse("id_token_hint_of_another_client", "id_token_hint was issued to another client.");
  if (postLogoutRedirectUri === undefined) return hinted;
  const client = await core.clients.byClientId(aud);
  if (client?.enabled !== true || !client.postLogoutRedirectUris.includes(postLogoutRedirectUri))
    refuse("post_logout_redirect_uri_not_registered", "post_logout_redirect_uri is not registered for this client.");
  return { ...hinted, postLogoutRedirectUri };
}

/** A notification of a client that a session has ended. */
export interface LogoutDelivery {
  readonly id: string;
  readonly clientId: string;
  /** Null: the client no longer asks for it, or is disabled or deleted. */
  readonly uri: string | null;
  readonly securityProfile: Client["securityProfile"];
  readonly userId: string;
  readonly sessionId: string;
  /** Failed attempts so far. */
  readonly attempts: number;
}

export interface LogoutDeliveries {
  /** Claims up to `limit` notifications that are due. Leased for `lease` seconds, then claimable again. */
  claim(limit: number, lease: number): Promise<readonly LogoutDelivery[]>;
  done(id: string): Promise<void>;
  /** Another attempt failed; it is due again in `seconds`. */
  postponed(id: string, seconds: number): Promise<void>;
  /** A client did not answer: an attempt of everything else that is due to it has failed too, and is due again in `seconds`. */
  unanswered(clientId: string, seconds: number): Promise<void>;
}

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** Seconds for which a logout token is valid (OpenID Connect Back-Channel Logout 1.0 §2.4 suggests two minutes at most). */
const LIFETIME = 120;

/** The claims of a logout token. @see OpenID Connect Back-Channel Logout 1.0 §2.4 */
export const logoutTokenClaims = (
  issuer: string,
  { clientId, userId, sessionId }: Pick<LogoutDelivery, "clientId" | "userId" | "sessionId">,
  { now, jti }: { readonly now: number; readonly jti: string },
): object => ({
  ...{ iss: issuer, sub: userId, aud: clientId, iat: now, exp: now + LIFETIME, jti, sid: sessionId },
  events: { [EVENT]: {} },
});

/** Seconds until the second attempt, and until each later one. */
const [PAUSE, LONG_PAUSE] = [5, 60];
/** Attempts after which a notification is given up. */
const MOST_ATTEMPTS = 3;

/** What follows an attempt. Pure. @param status undefined: there was no response */
export function afterAttempt(attempts: number, status: number | undefined): "done" | "give_up" | { readonly again: number } {
  if (status === 200 || status === 204) return "done";
  // 400 says that the client has understood the request and will not act on it (§2.8).
  if (status === 400 || attempts + 1 >= MOST_ATTEMPTS) return "give_up";
  return { again: pauseAfter(attempts) };
}

const pauseAfter = (attempts: number): number => (attempts === 0 ? PAUSE : LONG_PAUSE);

export interface LogoutPorts {
  readonly issuer: string;
  readonly deliveries: LogoutDeliveries;
  readonly fetch: GuardedSend;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly log: Pick<Log, "warn">;
}

/** Notifications that one round sends at the same time. */
const BATCH = 8;
/** Seconds: longer than one request may take. */
const LEASE = 30;
const MAX_BYTES = 65_536;

/** Sends all notifications that are due. @param signal stops it after the running batch */
export async function sendLogouts(ports: LogoutPorts, signal?: AbortSignal): Promise<void> {
  const { deliveries, keys } = ports;
  if (keys.current() === undefined) return;
  while (signal?.aborted !== true) {
    const claimed = await deliveries.claim(BATCH, LEASE);
    await Promise.all(claimed.map((delivery) => attempt(delivery, ports)));
    if (claimed.length < BATCH) return;
  }
}

async function attempt(delivery: LogoutDelivery, ports: LogoutPorts): Promise<void> {
  const { id, uri, clientId, attempts } = delivery;
  const { deliveries, log } = ports;
  if (uri === null) return deliveries.done(id);
  const mayTry = attempts < MOST_ATTEMPTS;
  const { status, reason } = mayTry ? await post(uri, delivery, ports) : {};
  const next = afterAttempt(attempts, status);
  if (next === "done") return deliveries.done(id);
  // Each further one would wait as long, and what is due to other clients behind it.
  if (mayTry && status === undefined) await deliveries.unanswered(clientId, pauseAfter(attempts));
  const outcome = { ...(status !== undefined && { status }), ...(reason !== undefined && { reason }) };
  const about = { clientId, attempt: Math.min(attempts + 1, MOST_ATTEMPTS), ...outcome };
  log.warn(next === "give_up" ? "logout_abandoned" : "logout_postponed", about);
  return next === "give_up" ? deliveries.done(id) : deliveries.postponed(id, next.again);
}

type Outcome = { readonly status?: number; readonly reason?: string };

async function post(uri: string, delivery: LogoutDelivery, ports: LogoutPorts): Promise<Outcome> {
  const { issuer, fetch, keys, clock, randomBytes } = ports;
  const claims = logoutTokenClaims(issuer, delivery, { now: clock(), jti: newSecret(randomBytes) });
  const token = await signJwt(claims, "logout+jwt", idTokenKey(keys, delivery));
  const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
  const body = new URLSearchParams({ logout_token: token }).toString();
  return fetch.send({ url: uri, method: "POST", headers, body, maxBytes: MAX_BYTES }).then(
    ({ status }) => ({ status }),
    (cause) => ({ reason: cause instanceof FetchFailure ? cause.reason : "unreachable" }),
  );
}
