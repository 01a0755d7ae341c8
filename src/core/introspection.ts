import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { isApiKey } from "../clients/api-key.ts";
import { audienceOf, type Client } from "../clients/client.ts";
import { IntrospectResponseSchema } from "../gen/countersign/introspection/v1/introspection_pb.ts";
import { sameResource } from "../protocol/access.ts";
import { introspectionJson } from "../protocol/introspection-answer.ts";
import { hashSecret } from "../random.ts";
import type { Core, CorePorts } from "./ports.ts";
import { headerSegment, promisesSecond, signJwt } from "./signing/jws.ts";
import { type AccessTokenClaims, audienceList, hasExpired, stateHolds, tokenReference, tokenTypeOf } from "./tokens/access-token.ts";

/** The answer for a token or key that is not valid, or that the caller may not see (RFC 7662 §2.2). */
const INACTIVE = { active: false };

/**
 * Whether a caller may see the state of a token: the client that it was issued to, or one that represents a resource of its audience. Pure.
 * @see docs/protocol.md#introspection
 */
export const mayIntrospect = (caller: Client, claims: AccessTokenClaims): boolean => {
  const audience = audienceList(claims);
  return (
    caller.clientId === claims.client_id || audienceOf(caller).some((resource) => audience.some((value) => sameResource(value, resource)))
  );
};

/** Reads the second signature of a hybrid token, and nothing for a classical one. */
const secondSignature = (token: string, claims: AccessTokenClaims, core: Core) =>
  promisesSecond(
    token,
    core.keys.own.map((key) => headerSegment(key, "at+jwt")),
  )
    ? core.detachedSignatures.of(claims.jti)
    : undefined;

/** Begins to read the state of tokens whose signatures are remembered. Verifies none, because the caller has not authenticated yet. */
export const prefetchStates = (tokens: readonly string[], core: Core) =>
  tokens.map((token) => {
    const claims = core.issuedTokens.remembered(token);
    const state = claims && core.tokens.of(tokenReference(claims));
    state?.catch(() => undefined); // not awaited when the caller is refused first
    return { token, claims, state };
  });

/** The state of a token, as the caller may see it. @see RFC 7662 §2.2, RFC 8693 §4.1, docs/protocol.md#introspection */
export async function introspect(prefetched: ReturnType<typeof prefetchStates>[number], caller: Client, core: Core) {
  const { token } = prefetched;
  const claims = prefetched.claims ?? core.issuedTokens.accessToken(token);
  if (claims === undefined || !mayIntrospect(caller, claims)) return INACTIVE;
  const [state, detached] = await Promise.all([
    prefetched.state ?? core.tokens.of(tokenReference(claims)),
    secondSignature(token, claims, core),
  ]);
  if (hasExpired(claims, state) || !stateHolds(claims, state)) return INACTIVE;
  const { cnf } = claims;
  return {
    active: true,
    sub: claims.sub,
    clientId: claims.client_id,
    scope: claims.scope,
    aud: [...audienceList(claims)],
    iss: claims.iss,
    exp: claims.exp,
    iat: claims.iat,
    tokenType: tokenTypeOf(cnf),
    ...(claims.act && { act: claims.act }),
    ...(cnf && { cnf: cnf.jkt === undefined ? { x5tS256: cnf["x5t#S256"] ?? "" } : { jkt: cnf.jkt } }),
    ...(claims.acr !== undefined && { acr: claims.acr }),
    ...(claims.amr !== undefined && { amr: [...claims.amr] }),
    ...(claims.auth_time !== undefined && { authTime: claims.auth_time }),
    ...(detached && { pqcSignature: Buffer.from(detached.signature).toString("base64url"), pqcAlg: detached.alg }),
  };
}

/**
 * The answer as a JWT for the caller, who can prove to others what this server said. It has neither `sub` nor `exp`, so that it is no access token.
 * @see RFC 9701 §5
 */
export const signedAnswer = (result: MessageInitShape<typeof IntrospectResponseSchema>, caller: Client, core: Core): Promise<string> =>
  signJwt(
    {
      iss: core.issuer,
      aud: caller.clientId,
      iat: Math.floor(core.clock()),
      token_introspection: introspectionJson(create(IntrospectResponseSchema, result)),
    },
    "token-introspection+jwt",
    core.keys.signing().accessToken,
  );

/** Whether a static API key is valid now, and for which client. @see docs/protocol.md#api-keys */
export async function verifyApiKey(key: string, { apiKeys }: Pick<CorePorts, "apiKeys">) {
  const live = isApiKey(key) ? await apiKeys.byHash(hashSecret(key)) : undefined;
  return live === undefined
    ? INACTIVE
    : { active: true, keyId: live.keyId, clientId: live.client.clientId, scope: live.client.scopes.join(" ") };
}
