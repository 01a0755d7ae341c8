import type { Client } from "../../clients/client.ts";
import { printScope } from "../../protocol/scope.ts";
import type { Core } from "../ports.ts";
import { signHybridJwt, signJwt } from "../signing/jws.ts";
import { type AccessTokenClaims, type AccessTokenContents, accessTokenClaims, tokenTypeOf } from "../tokens/access-token.ts";

/** `now` is set where the lifetime depends on another token. */
type AccessTokenRequest = Omit<AccessTokenContents, "issuer" | "clientId" | "now"> & { readonly client: Client; readonly now?: number };

/** The token, and in self-contained delivery its second signature (PQC_TOKEN_DELIVERY). @see docs/protocol.md#hybrid-signing */
async function signed(claims: AccessTokenClaims, core: Core) {
  const { accessToken: key, hybrid } = core.keys.signing();
  if (hybrid === undefined) return { accessToken: await signJwt(claims, "at+jwt", key, core.sign) };
  const { token, detached } = await signHybridJwt(claims, "at+jwt", key, core.sign, hybrid);
  const { alg } = hybrid.jwk;
  // Stored before the token is issued, because its holder may request the signature at once.
  await core.detachedSignatures.keep(claims.jti, { alg, signature: detached }, claims.exp);
  if (!core.selfContained) return { accessToken: token };
  return { accessToken: token, pqcSignature: Buffer.from(detached).toString("base64url"), pqcAlg: alg };
}

/** The members that every token answer has. @see docs/protocol.md#token-response */
export async function accessTokenAnswer(token: AccessTokenRequest, core: Core) {
  const { issuer } = core;
  const claims = accessTokenClaims({ ...token, issuer, clientId: token.client.clientId, now: token.now ?? core.clock() });
  return {
    ...(await signed(claims, core)),
    tokenType: tokenTypeOf(token.cnf),
    expiresIn: token.lifetime,
    scope: printScope(token.scopes),
  };
}
