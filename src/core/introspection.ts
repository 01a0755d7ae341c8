import { isApiKey } from "../clients/api-key.ts";
import { audienceOf, type Client } from "../clients/client.ts";
import { sameResource } from "../protocol/resource.ts";
import { printScope } from "../protocol/scope.ts";
import { hashSecret } from "../secret.ts";
import type { Core, CorePorts } from "./ports.ts";
import { headerSegment, promisesSecond } from "./signing/jws.ts";
import type { TokenState } from "./token-state.ts";
import { type AccessTokenClaims, asAccessToken, audienceList, tokenReference } from "./tokens/access-token.ts";

/** All that is told of a token that does not count for the caller (RFC 7662 §2.2). */
const INACTIVE = { active: false };

/** Whether a token has expired, by the clock of the database that its state was read from. Pure. */
export const hasExpired = (claims: AccessTokenClaims, state: TokenState): boolean => claims.exp <= state.now;

/** Whether a token whose signature and expiry hold has not been ended by anything behind it. Pure. */
export const stateHolds = (claims: AccessTokenClaims, state: TokenState): boolean => {
  const personal = tokenReference(claims).userId !== undefined;
  return !state.revoked && state.clientEnabled && (!personal || (state.grantLives && state.subject?.enabled === true));
};

/**
 * Whether a caller may learn of a token: the client that it was issued to, or one that stands for a resource of its audience. Pure.
 * @see docs/protocol.md#introspection
 */
export const mayIntrospect = (caller: Client, claims: AccessTokenClaims): boolean => {
  const audience = audienceList(claims);
  return (
    caller.clientId === claims.client_id || audienceOf(caller).some((resource) => audience.some((place) => sameResource(place, resource)))
  );
};

/** The record of a hybrid token's second signature; a classical token has none, and nobody looks for one. */
const secondSignature = (token: string, claims: AccessTokenClaims, core: Core) =>
  promisesSecond(
    token,
    core.keys.own.map((key) => headerSegment(key, "at+jwt")),
  )
    ? core.detachedSignatures.of(claims.jti)
    : undefined;

/** A token that is asked about; where its signature is known to be good, its state is on its way. */
interface Asked {
  readonly token: string;
  readonly claims: AccessTokenClaims | undefined;
  readonly state: Promise<TokenState> | undefined;
}

/** Costs a stranger's request no signature: only what was verified before is looked at. */
function asked(token: string, core: Core): Asked {
  const known = core.issuedTokens.remembered(token, "at+jwt");
  const claims = known && asAccessToken(known);
  const state = claims && core.tokens.of(tokenReference(claims));
  state?.catch(() => undefined); // nobody asks for it when the caller is refused first
  return { token, claims, state };
}

function verified(token: string, core: Core): AccessTokenClaims | undefined {
  const claims = core.issuedTokens.verify(token, "at+jwt");
  return claims && asAccessToken(claims);
}

/**
 * What a caller is told of tokens. Those that were seen before have their state read alongside the caller's own row, so that the request
 * waits once for both; nothing is read for whoever is turned away before the caller is looked for.
 */
export function introspection(tokens: readonly string[], core: Core) {
  let begun: readonly Asked[] = [];
  return {
    clients: {
      byClientId(clientId: string): Promise<Client | undefined> {
        begun = tokens.map((token) => asked(token, core));
        return core.clients.byClientId(clientId);
      },
    },
    results: (caller: Client) => Promise.all(begun.map((one) => introspect(one, caller, core))),
  };
}

/**
 * What a caller is told of a token.
 * @see RFC 7662 §2.2, RFC 8693 §4.1, docs/protocol.md#introspection
 */
async function introspect({ token, claims: known, state: begun }: Asked, caller: Client, core: Core) {
  const claims = known ?? verified(token, core);
  if (claims === undefined || !mayIntrospect(caller, claims)) return INACTIVE;
  const [state, detached] = await Promise.all([begun ?? core.tokens.of(tokenReference(claims)), secondSignature(token, claims, core)]);
  if (hasExpired(claims, state) || !stateHolds(claims, state)) return INACTIVE;
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

/**
 * What a resource server is told of a static API key: whether it counts at this moment, and for which client.
 * @see docs/protocol.md#api-keys
 */
export async function verifyApiKey(key: string, { apiKeys }: Pick<CorePorts, "apiKeys">) {
  const live = isApiKey(key) ? await apiKeys.byHash(hashSecret(key)) : undefined;
  return live === undefined ? INACTIVE : { active: true, keyId: live.keyId, ...told(live.client) };
}

const told = ({ clientId, scopes }: Client) => ({ clientId, scope: printScope(scopes) });
