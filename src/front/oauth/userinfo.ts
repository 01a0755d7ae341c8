import { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import { Refusal } from "../../errors.ts";
import { AccessTokenUse } from "../../gen/countersign/token/v1/token_pb.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { assertNoCredentialInQuery, parseBearer, parseForm, parseParameters } from "../../protocol/form.ts";
import { bearerErrorPrinter, boundToken, giveNonce, sendJson } from "../http/answers.ts";
import { formText } from "../http/body.ts";
import { form, json, lazily, OauthError, oauthErrors, schema } from "../http/describe.ts";
import { type FrontContext, type Handler, queryText, type Route } from "../http/routes.ts";

/** `GET` and `POST /oauth/userinfo`. @see OIDC Core §5.3, RFC 6750 §3, docs/protocol.md#userinfo */
export function userinfoRoutes({ core, issuer }: { readonly core: TokenCore; readonly issuer: string }): readonly Route[] {
  const answer: Handler = async (ctx) => {
    assertNoCredentialInQuery(queryText(ctx));
    const bound = boundToken(ctx, issuer);
    const inHeader = bound?.accessToken ?? parseBearer(ctx.req.headers.authorization);
    const inBody = await tokenInForm(ctx);
    if (inHeader !== undefined && inBody !== undefined) throw sentTwice();
    const accessToken = inHeader ?? inBody;
    if (accessToken === undefined) throw new Refusal("unauthenticated", "no_bearer", { description: "An access token is required." });
    const token = await core.verifyAccessToken(
      { accessToken, use: AccessTokenUse.USERINFO, dpop: bound?.dpop },
      { signal: ctx.state.signal },
    );
    giveNonce(ctx, token.dpopNonce);
    const email = token.scopes.includes("email") ? token.email : undefined;
    sendJson(ctx, email === undefined ? { sub: token.sub } : { sub: token.sub, email, email_verified: true });
  };
  const route = {
    path: "/oauth/userinfo",
    cors: true,
    print: bearerErrorPrinter(issuer, "openid"),
    answer,
    openapi: describeUserinfo,
  } as const;
  return [
    { ...route, method: "GET" },
    { ...route, method: "POST", openapi: () => ({ ...describeUserinfo(), requestBody: { ...form(TokenInBody()), required: false } }) },
  ];
}

/** The token of a posted form, which may come without one. @throws {Refusal} invalid_request @see RFC 6750 §2.2, §3.1 */
async function tokenInForm(ctx: FrontContext): Promise<string | undefined> {
  if (ctx.method !== "POST" || !ctx.is("urlencoded")) return undefined;
  const text = await formText(ctx);
  if ((parseParameters(text).get("access_token")?.length ?? 0) > 1) throw sentTwice();
  return parseForm(text).get("access_token");
}

const sentTwice = (): Refusal =>
  new Refusal("invalid_request", "token_sent_twice", { description: "Send the access token once: in the header or in the body." });

const describeUserinfo = (): ZodOpenApiOperationObject => ({
  tags: ["OAuth"],
  summary: "Claims about the user of the token",
  security: [{ bearer: [] }],
  responses: {
    "200": json("The claims.", Userinfo()),
    ...oauthErrors(),
    "401": json("The token is missing or not valid.", BearerError()),
    "403": json("The token lacks the scope `openid`.", OauthError()),
  },
});

/** @see RFC 6750 §2.2 */
const TokenInBody = lazily(() => z.object({ access_token: z.string().optional().meta({ description: "In place of the header." }) }));

const Userinfo = schema("UserInfo", () => ({
  sub: z.string(),
  email: z.string().optional().meta({ example: "user@example.test" }),
  email_verified: z.literal(true).optional(),
}));

/** RFC 6750 §3.1: the response to a request without a token has no error code. */
const BearerError = lazily(() =>
  OauthError().partial().meta({ id: "BearerError", description: "Empty where no token was sent; see WWW-Authenticate." }),
);
