import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from "jose";
import { CLIENT_ASSERTION_ALGORITHMS } from "../clients/client.ts";
import { FetchFailure } from "../clients/guarded-fetch.ts";
import type { PublishedKey, RemoteKeys } from "../clients/key-set.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";
import type { Connection } from "./connection.ts";
import type { UpstreamLogout } from "./ports.ts";

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** Seconds that a token may be old, and by which clocks may differ. */
const MAX_AGE = 300;
const TOLERANCE = 30;

const refuse = (reason: string, cause?: unknown): never => {
  throw new Refusal("invalid_request", reason, { description: "This is no valid logout token for this server.", cause });
};

const idOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" && value.length <= 255 ? value : undefined);

/** The session or user whose logout the claims report. Pure. @throws {Refusal} @see OpenID Connect Back-Channel Logout 1.0 §2.6 */
export function logoutOf({ jti, sub, sid, events, nonce }: JWTPayload): UpstreamLogout {
  const isLogout = typeof events === "object" && events !== null && EVENT in events;
  if (!isLogout || nonce !== undefined) refuse("logout_token_of_another_kind");
  const [id, subject, session] = [idOf(jti), idOf(sub), idOf(sid)];
  if (id === undefined || (subject === undefined && session === undefined)) return refuse("logout_token_malformed");
  return { jti: id, subject, sid: session, remember: MAX_AGE + TOLERANCE };
}

/** Verifies a logout token of a provider. @throws {Refusal} invalid_request, temporarily_unavailable without the provider's keys */
export async function readLogoutToken(
  token: string,
  { issuer, clientId }: Pick<Connection, "issuer" | "clientId">,
  { keys, clock }: { readonly keys: RemoteKeys; readonly clock: Clock },
): Promise<UpstreamLogout> {
  const verify = async (published: readonly PublishedKey[]) => {
    const set = createLocalJWKSet({ keys: [...published] } as unknown as JSONWebKeySet);
    const { payload } = await jwtVerify(token, set, {
      ...{ issuer, audience: clientId, algorithms: [...CLIENT_ASSERTION_ALGORITHMS], maxTokenAge: MAX_AGE, clockTolerance: TOLERANCE },
      requiredClaims: ["iat", "exp", "jti"],
      currentDate: new Date(clock() * 1_000),
    });
    return logoutOf(payload);
  };
  try {
    return await verify(await keys.current(issuer)).catch(async (error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return verify(await keys.refreshed(issuer));
    });
  } catch (error) {
    if (error instanceof FetchFailure)
      throw new Refusal("temporarily_unavailable", "upstream_unreachable", { retryAfter: 5, cause: error });
    if (error instanceof errors.JOSEError || error instanceof TypeError) return refuse("logout_token_invalid", error);
    throw error;
  }
}
