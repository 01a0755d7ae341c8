import type { Client } from "../../clients/client.ts";
import { printScope } from "../../protocol/scope.ts";
import type { Core } from "../ports.ts";
import { signHybridJwt, signJwt } from "../signing/jws.ts";
import {
  type AccessTokenClaims,
  type Actor,
  type AncestorToken,
  accessTokenClaims,
  type Confirmation,
  tokenTypeOf,
} from "../tokens/access-token.ts";

export interface AccessTokenRequest {
  readonly subject: string;
  readonly client: Client;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly jti: string;
  /** Seconds. */
  readonly lifetime: number;
  /** Seconds since the epoch from which `lifetime` counts, where it ends with another token; otherwise now. */
  readonly now?: number;
  readonly act?: Actor | undefined;
  readonly exchangedFrom?: readonly AncestorToken[] | undefined;
  /** The key that the token is bound to. */
  readonly cnf?: Confirmation | undefined;
}

/** The token, and in self-contained delivery its second signature (PQC_TOKEN_DELIVERY). @see docs/protocol.md#hybrid-signing */
async function signed(claims: AccessTokenClaims, core: Core) {
  const { accessToken: key, hybrid } = core.keys.signing();
  if (hybrid === undefined) return { accessToken: await signJwt(claims, "at+jwt", key, core.sign) };
  const { token, detached } = await signHybridJwt(claims, "at+jwt", key, core.sign, hybrid);
  const { alg } = hybrid.jwk;
  // The holder of the token may request its signature at once: no record, no token.
  await core.detachedSignatures.keep(claims.jti, { alg, signature: detached }, claims.exp);
  if (!core.selfContained) return { accessToken: token };
  return { accessToken: token, pqcSignature: Buffer.from(detached).toString("base64url"), pqcAlg: alg };
}

/** The members that every token answer has. @see docs/protocol.md#token-response */
export async function accessTokenAnswer(token: AccessTokenRequest, core: Core) {
  const claims = accessTokenClaims({
    issuer: core.issuer,
    subject: token.subject,
    audience: token.audience,
    clientId: token.client.clientId,
    scopes: token.scopes,
    jti: token.jti,
    now: token.now ?? core.clock(),
    lifetime: token.lifetime,
    act: token.act,
    exchangedFrom: token.exchangedFrom,
    cnf: token.cnf,
  });
  return {
    ...(await signed(claims, core)),
    tokenType: tokenTypeOf(token.cnf),
    expiresIn: token.lifetime,
    scope: printScope(token.scopes),
  };
}
