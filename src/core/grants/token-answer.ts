import type { Client } from "../../clients/client.ts";
import { printScope } from "../../protocol/scope.ts";
import type { Core } from "../ports.ts";
import { signHybridJwt, signJwt } from "../signing/jws.ts";
import { type AccessTokenClaims, type Actor, type AncestorToken, accessTokenClaims } from "../tokens/access-token.ts";

export interface AccessTokenRequest {
  readonly subject: string;
  readonly client: Client;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly jti: string;
  /** Seconds. */
  readonly lifetime: number;
  /**
   * When the lifetime was reckoned, in seconds since the epoch, where another token's end bounds it: from later on it would reach beyond.
   */
  readonly now?: number;
  readonly act?: Actor | undefined;
  readonly exchangedFrom?: readonly AncestorToken[] | undefined;
}

/** The token, and in self-contained delivery its second signature (docs/protocol.md#hybrid-signing, PQC_TOKEN_DELIVERY). */
async function signed(claims: AccessTokenClaims, core: Core) {
  const { accessToken: key, hybrid } = core.keys.signing();
  if (hybrid === undefined) return { accessToken: await signJwt(claims, "at+jwt", key, core.sign) };
  const { token, detached } = await signHybridJwt(claims, "at+jwt", key, core.sign, hybrid);
  const { alg } = hybrid.jwk;
  // Whoever holds the token may ask for its signature at once: no record, no token.
  await core.detachedSignatures.keep(claims.jti, { alg, signature: detached }, claims.exp);
  if (!core.selfContained) return { accessToken: token };
  return { accessToken: token, pqcSignature: Buffer.from(detached).toString("base64url"), pqcAlg: alg };
}

/** The members that every token answer has (docs/protocol.md#token-response). */
export async function accessTokenAnswer(wish: AccessTokenRequest, core: Core) {
  const claims = accessTokenClaims({
    issuer: core.issuer,
    subject: wish.subject,
    audience: wish.audience,
    clientId: wish.client.clientId,
    scopes: wish.scopes,
    jti: wish.jti,
    now: wish.now ?? core.clock(),
    lifetime: wish.lifetime,
    act: wish.act,
    exchangedFrom: wish.exchangedFrom,
  });
  return {
    ...(await signed(claims, core)),
    tokenType: "Bearer",
    expiresIn: wish.lifetime,
    scope: printScope(wish.scopes),
  };
}
