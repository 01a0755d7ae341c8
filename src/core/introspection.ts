import { audienceOf, type Client } from "../clients/client.ts";
import type { Core } from "./core.ts";
import type { TokenState } from "./ports.ts";
import { headerSegment, promisesSecond } from "./signing/jws.ts";
import { type AccessTokenClaims, asAccessToken, audienceList, tokenReference } from "./tokens/access-token.ts";

/** All that is told of a token that does not count for the caller (RFC 7662 §2.2). */
const INACTIVE = { active: false };

/** Whether a token whose signature and expiry hold has not been ended by anything behind it. Pure. */
export const stateHolds = (claims: AccessTokenClaims, state: TokenState): boolean => {
  const personal = tokenReference(claims).userId !== undefined;
  return !state.revoked && state.clientEnabled && (!personal || (state.grantLives && state.subject?.enabled === true));
};

/**
 * Whether a caller may learn of a token: the client that it was issued to, or one that stands for a resource of its audience. Pure.
 * @see specification §2.9
 */
export const mayIntrospect = (caller: Client, claims: AccessTokenClaims): boolean => {
  const audience = audienceList(claims);
  return caller.clientId === claims.client_id || audienceOf(caller).some((resource) => audience.includes(resource));
};

/** The record of a hybrid token's second signature; a classical token has none, and nobody looks for one. */
const secondSignature = (token: string, claims: AccessTokenClaims, core: Core) =>
  promisesSecond(
    token,
    core.keys.own.map((key) => headerSegment(key, "at+jwt")),
  )
    ? core.detachedSignatures.of(claims.jti)
    : undefined;

/**
 * What a caller is told of a token.
 * @see RFC 7662 §2.2, RFC 8693 §4.1, specification §2.9
 */
export async function introspect(token: string, caller: Client, core: Core) {
  const verified = core.ownTokens.verify(token, "at+jwt");
  const claims = verified && asAccessToken(verified);
  if (claims === undefined || claims.exp <= core.clock() || !mayIntrospect(caller, claims)) return INACTIVE;
  const [state, detached] = await Promise.all([core.tokens.of(tokenReference(claims)), secondSignature(token, claims, core)]);
  if (!stateHolds(claims, state)) return INACTIVE;
  return {
    active: true,
    sub: claims.sub,
    clientId: claims.client_id,
    scope: claims.scope,
    aud: [...audienceList(claims)],
    iss: claims.iss,
    exp: claims.exp,
    iat: claims.iat,
    tokenType: "Bearer",
    ...(claims.act && { act: claims.act }),
    ...(detached && { pqcSignature: Buffer.from(detached.signature).toString("base64url"), pqcAlg: detached.alg }),
  };
}
