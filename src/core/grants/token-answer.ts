import type { Client } from "../../clients/client.ts";
import { printScope } from "../../protocol/scope.ts";
import type { Core } from "../core.ts";
import { signJwt } from "../signing/jws.ts";
import { type Actor, accessTokenClaims } from "../tokens/access-token.ts";

export interface AccessTokenWish {
  readonly subject: string;
  readonly client: Client;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly jti: string;
  /** Seconds. */
  readonly lifetime: number;
  readonly act?: Actor | undefined;
}

/** The members that every token answer has (specification §2.6). */
export async function accessTokenAnswer(wish: AccessTokenWish, core: Core) {
  const claims = accessTokenClaims({
    issuer: core.issuer,
    subject: wish.subject,
    audience: wish.audience,
    clientId: wish.client.clientId,
    scopes: wish.scopes,
    jti: wish.jti,
    now: core.clock(),
    lifetime: wish.lifetime,
    act: wish.act,
  });
  return {
    accessToken: await signJwt(claims, "at+jwt", core.keys.accessToken, core.sign),
    tokenType: "Bearer",
    expiresIn: wish.lifetime,
    scope: printScope(wish.scopes),
  };
}
