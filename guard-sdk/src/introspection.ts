import { readPrincipal } from "./claims.ts";
import type { Principal } from "./principal.ts";
import { GuardRefusal } from "./refusal.ts";
import { sha256 } from "./signature.ts";
import { type Moment, momentOf, secondsSince } from "./time.ts";
import { MAX_TOKEN_LENGTH } from "./token.ts";
import { type Remembered, tokenCache } from "./token-cache.ts";
import { onlyIssuer, type VerificationSettings, type VerifyToken } from "./verification.ts";

/** Asks the authorization server for the state of a token: the members of RFC 7662 §2.2. Throws when there is no answer. */
export type Ask = (token: string) => Promise<Readonly<Record<string, unknown>>>;

/** The most seconds for which an active response is cached. */
const REUSE_SECONDS = 10;

interface GoodAnswer extends Remembered {
  readonly askedAt: Moment;
}

/**
 * Verification by introspection. An active response is cached for ten seconds from the request, and never past `exp`; an inactive one is not
 * cached. Requests that arrive with a token while it is asked about share the response. Without a response the token is refused with
 * temporarily_unavailable.
 * @see RFC 7662 §2.2, §4; docs/protocol.md#introspection, docs/protocol.md#guard
 */
export function introspecting(ask: Ask, { issuers, audiences, clocks, tokenCacheSize }: VerificationSettings): VerifyToken {
  const issuer = onlyIssuer(issuers);
  const profile = { issuers: new Set([issuer]), audiences };
  const cache = tokenCache<GoodAnswer>(tokenCacheSize);
  /** Questions without an answer, by the digest of the token. */
  const running = new Map<string, Promise<Principal>>();

  async function judged(token: string, digest: string): Promise<Principal> {
    const askedAt = momentOf(clocks);
    const state = await answerOf(ask, token);
    const principal = readState(state, issuer, (claims) => readPrincipal(claims, profile, clocks.now()));
    cache.set(digest, { principal, askedAt });
    return principal;
  }

  return async (token) => {
    if (token.length > MAX_TOKEN_LENGTH) throw new GuardRefusal("invalid_token", "token_too_long");
    const digest = await sha256(token);
    const known = cache.get(digest, clocks.now());
    if (known !== undefined && secondsSince(clocks, known.askedAt) < REUSE_SECONDS) return known.principal;
    if (tokenCacheSize === 0) return judged(token, digest); // each request has a question of its own
    const asked = running.get(digest) ?? judged(token, digest).finally(() => running.delete(digest));
    running.set(digest, asked);
    return asked;
  };
}

async function answerOf(ask: Ask, token: string) {
  try {
    return await ask(token);
  } catch (cause) {
    throw new GuardRefusal("temporarily_unavailable", "introspection_unavailable", { cause });
  }
}

/** A malformed response is an outage: it does not say that the token is invalid. */
function readState(
  { active, token_type = "Bearer", ...claims }: Readonly<Record<string, unknown>>,
  issuer: string,
  read: (claims: Readonly<Record<string, unknown>>) => Principal,
): Principal {
  if (active === false) throw new GuardRefusal("invalid_token", "token_inactive");
  if (active !== true) throw new GuardRefusal("temporarily_unavailable", "introspection_malformed");
  if (typeof token_type !== "string") throw new GuardRefusal("invalid_token", "token_type_unsupported");
  const principal = read({ iss: issuer, ...claims });
  // RFC 9449 §6.2: a token is of the type DPoP exactly when it is bound to a key.
  if (token_type.toLowerCase() !== (principal.jkt === undefined ? "bearer" : "dpop"))
    throw new GuardRefusal("invalid_token", "token_bound");
  return principal;
}
