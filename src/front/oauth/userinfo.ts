import { Refusal } from "../../errors.ts";
import { AccessTokenUse } from "../../gen/countersign/token/v1/token_pb.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { assertNoCredentialInQuery, parseBearer } from "../../protocol/client-credential.ts";
import { bearerErrorPrinter } from "../http/errors.ts";
import { sendJson } from "../http/headers.ts";
import { type Handler, queryText, type Route } from "../http/routes.ts";

/** `GET` and `POST /oauth/userinfo`. @see OIDC Core §5.3, RFC 6750 §3, specification §4.8 */
export function userinfoRoutes({ core, issuer }: { readonly core: TokenCore; readonly issuer: string }): readonly Route[] {
  const answer: Handler = async (ctx) => {
    assertNoCredentialInQuery(queryText(ctx));
    const accessToken = parseBearer(ctx.req.headers.authorization);
    if (accessToken === undefined) throw new Refusal("unauthenticated", "no_bearer", { description: "An access token is required." });
    const token = await core.verifyAccessToken({ accessToken, use: AccessTokenUse.USERINFO }, { signal: ctx.state.signal });
    const email = token.scopes.includes("email") ? token.email : undefined;
    sendJson(ctx, email === undefined ? { sub: token.sub } : { sub: token.sub, email, email_verified: true });
  };
  const route = { path: "/oauth/userinfo", cors: true, print: bearerErrorPrinter(issuer, "openid"), answer } as const;
  return [
    { ...route, method: "GET" },
    { ...route, method: "POST" },
  ];
}
