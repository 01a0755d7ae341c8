import { z } from "zod";
import { Refusal } from "../../errors.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { oauthErrorPrinter, sendNothing } from "../http/answers.ts";
import { clientForm } from "../http/body.ts";
import { credentialFields, form, oauthBodyErrors, oauthErrors, schema } from "../http/describe.ts";
import type { Route } from "../http/routes.ts";

/** `POST /oauth/revoke`: 200 with an empty body, even for a string that is not a live token. @see RFC 7009, docs/protocol.md#revocation */
export const revokeRoute = ({ core, issuer }: { readonly core: TokenCore; readonly issuer: string }): Route => ({
  method: "POST",
  path: "/oauth/revoke",
  hot: true,
  cors: true,
  print: oauthErrorPrinter(issuer),
  openapi: () => ({
    tags: ["OAuth"],
    summary: "Revokes a token (RFC 7009)",
    description: "For clients that have a secret, in the header or in the body. Public clients and those of private_key_jwt are refused.",
    security: [{ clientBasic: [] }, {}],
    requestBody: form(revocationRequest()),
    responses: {
      "200": { description: "Done, or there was nothing to do. The body is empty." },
      ...oauthErrors(),
      ...oauthBodyErrors(),
    },
  }),
  async answer(ctx) {
    const { form, client } = await clientForm(ctx);
    const token = form.get("token");
    const request = { client, token: token ?? "", tokenTypeHint: form.get("token_type_hint"), requestId: ctx.state.requestId };
    await core.revoke(request, { signal: ctx.state.signal });
    // Refused only after the core has authenticated the caller; the empty string is never a live token.
    if (token === undefined) throw new Refusal("invalid_request", "token_missing", { description: "token is missing." });
    sendNothing(ctx);
  },
});

const revocationRequest = schema("RevocationRequest", () => ({
  token: z.string(),
  token_type_hint: z.enum(["access_token", "refresh_token"]).optional(),
  ...credentialFields(),
}));
