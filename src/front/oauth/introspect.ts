import { z } from "zod";
import { Refusal } from "../../errors.ts";
import type { Actor, IntrospectResponse } from "../../gen/countersign/introspection/v1/introspection_pb.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { assertNoCredentialInQuery, parseClientCredential } from "../../protocol/form.ts";
import { formBody } from "../http/body.ts";
import { credentialFields, form, json, lazily, oauthBodyErrors, oauthErrors, scope, secondsSinceEpoch } from "../http/describe.ts";
import { oauthErrorPrinter } from "../http/errors.ts";
import { sendJson } from "../http/headers.ts";
import { queryText, type Route } from "../http/routes.ts";

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
    responses: { "200": json("The state.", IntrospectionAnswer()), ...oauthErrors(), ...oauthBodyErrors() },
  }),
  async answer(ctx) {
    assertNoCredentialInQuery(queryText(ctx));
    const form = await formBody(ctx);
    const client = parseClientCredential(ctx.req.headers.authorization, form, ctx.state.address);
    const token = form.get("token");
    // Without a token the core still authenticates the caller first, so that others learn nothing about parameters.
    const { results } = await core.introspect({ client, tokens: token === undefined ? [] : [token] }, { signal: ctx.state.signal });
    const [result] = results;
    if (result === undefined) throw new Refusal("invalid_request", "token_missing", { description: "token is missing." });
    sendJson(ctx, introspectionJson(result));
  },
});

/** The members of RFC 7662 §2.2: only `active` for an inactive token. */
function introspectionJson(result: IntrospectResponse): object {
  if (!result.active) return { active: false };
  return {
    active: true,
    sub: result.sub,
    client_id: result.clientId,
    scope: result.scope,
    aud: result.aud.length === 1 ? result.aud[0] : result.aud,
    iss: result.iss,
    exp: result.exp,
    iat: result.iat,
    token_type: result.tokenType,
    act: result.act && actorJson(result.act),
    cnf: result.cnf && { jkt: result.cnf.jkt, "x5t#S256": result.cnf.x5tS256 },
    pqc_signature: result.pqcSignature || undefined,
    pqc_alg: result.pqcAlg || undefined,
  };
}

/** The current actor is the outermost (RFC 8693 §4.1). */
const actorJson = ({ sub, act }: Actor): object => (act === undefined ? { sub } : { sub, act: actorJson(act) });

const introspectionRequest = () =>
  z.object({ token: z.string(), token_type_hint: z.string().optional(), ...credentialFields() }).meta({ id: "IntrospectionRequest" });

export const IntrospectionAnswer = lazily(() =>
  z
    .object({
      active: z.boolean(),
      sub: z.string().optional(),
      client_id: z.string().optional(),
      scope: scope().optional(),
      aud: z.union([z.string(), z.array(z.string())]).optional(),
      iss: z.string().optional(),
      exp: secondsSinceEpoch().optional(),
      iat: secondsSinceEpoch().optional(),
      token_type: z.literal("Bearer").optional(),
      act: z
        .looseObject({ sub: z.string() })
        .optional()
        .meta({ description: "The current actor; earlier ones are nested in its own `act`." }),
      pqc_signature: z.string().optional(),
      pqc_alg: z.string().optional(),
    })
    .meta({ id: "IntrospectionResponse", description: "An inactive token has only `active`." }),
);
