import { z } from "zod";
import { Refusal } from "../../errors.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { asksForSigned, introspectionJson, SIGNED_ANSWER } from "../../protocol/introspection-answer.ts";
import { noStore, oauthErrorPrinter, sendJson } from "../http/answers.ts";
import { clientForm } from "../http/body.ts";
import { credentialFields, form, oauthBodyErrors, oauthErrors, schema, scope, secondsSinceEpoch } from "../http/describe.ts";
import type { HotContext, Route } from "../http/routes.ts";

/** `POST /oauth/introspect`. @see RFC 7662, docs/protocol.md#introspection */
export const introspectRoute = ({ core, issuer }: { readonly core: TokenCore; readonly issuer: string }): Route => ({
  method: "POST",
  path: "/oauth/introspect",
  hot: true,
  print: oauthErrorPrinter(issuer),
  openapi: () => ({
    tags: ["OAuth"],
    summary: "Returns the state of a token (RFC 7662)",
    security: [{ clientBasic: [] }, {}],
    requestBody: form(introspectionRequest()),
    responses: {
      "200": {
        description: "The state; signed where `Accept` names the JWT's type (RFC 9701).",
        content: { "application/json": { schema: IntrospectionAnswer() }, [SIGNED_ANSWER]: { schema: { type: "string" } } },
      },
      ...oauthErrors(),
      ...oauthBodyErrors(),
    },
  }),
  async answer(ctx) {
    const { form, client } = await clientForm(ctx);
    const token = form.get("token");
    // Without a token the core still authenticates the caller first, so that others learn nothing about parameters.
    const signed = asksForSigned(ctx.req.headers.accept);
    const request = { client, tokens: token === undefined ? [] : [token], signed };
    const { results, jwt } = await core.introspect(request, { signal: ctx.state.signal });
    const [result] = results;
    if (result === undefined) throw new Refusal("invalid_request", "token_missing", { description: "token is missing." });
    if (signed) sendSigned(ctx, jwt);
    else sendJson(ctx, introspectionJson(result));
  },
});

/** @throws {Refusal} temporarily_unavailable for a core of an earlier release, which signs no answers */
function sendSigned(ctx: HotContext, jwt: string | undefined): void {
  if (jwt === undefined) throw new Refusal("temporarily_unavailable", "core_signs_no_answers", { retryAfter: 60 });
  noStore(ctx);
  ctx.set("Content-Type", SIGNED_ANSWER);
  ctx.body = jwt;
}

const introspectionRequest = schema("IntrospectionRequest", () => ({
  token: z.string(),
  token_type_hint: z.string().optional(),
  ...credentialFields(),
}));

export const IntrospectionAnswer = schema(
  "IntrospectionResponse",
  () => ({
    active: z.boolean(),
    sub: z.string().optional(),
    client_id: z.string().optional(),
    scope: scope().optional(),
    aud: z.union([z.string(), z.array(z.string())]).optional(),
    iss: z.string().optional(),
    exp: secondsSinceEpoch().optional(),
    iat: secondsSinceEpoch().optional(),
    token_type: z.enum(["Bearer", "DPoP"]).optional(),
    act: z
      .looseObject({ sub: z.string() })
      .optional()
      .meta({ description: "The current actor; earlier ones are nested in its own `act`." }),
    cnf: z
      .looseObject({ jkt: z.string().optional(), "x5t#S256": z.string().optional() })
      .optional()
      .meta({ description: "The key or certificate that the token is bound to." }),
    acr: z.string().optional(),
    amr: z.array(z.string()).optional(),
    auth_time: secondsSinceEpoch().optional(),
    pqc_signature: z.string().optional(),
    pqc_alg: z.string().optional(),
  }),
  "An inactive token has only `active`.",
);
