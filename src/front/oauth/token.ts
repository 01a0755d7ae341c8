import { isRefusal } from "../../errors.ts";
import type { TokenResponse } from "../../gen/countersign/token/v1/token_pb.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { assertNoCredentialInQuery, parseClientCredential } from "../../protocol/client-credential.ts";
import { parseForm } from "../../protocol/form.ts";
import type { GrantType } from "../../protocol/grants.ts";
import { parseGrant } from "../../protocol/grants.ts";
import { formText } from "../http/body.ts";
import { oauthErrorPrinter } from "../http/errors.ts";
import { sendJson } from "../http/headers.ts";
import { type HotContext, queryText, type Route } from "../http/routes.ts";
import { recordedRefusal } from "./refused-exchange.ts";

export interface TokenRouteOptions {
  readonly core: TokenCore;
  readonly issuer: string;
  /** The grants that are served, as the metadata advertises them. */
  readonly grantTypes: readonly GrantType[];
}

/**
 * Reads a token request. A token exchange that cannot be read leaves its record all the same.
 * @throws {Refusal} invalid_request, invalid_client, unsupported_grant_type
 */
async function readRequest(ctx: HotContext, { core, grantTypes }: TokenRouteOptions) {
  const text = await formText(ctx);
  try {
    assertNoCredentialInQuery(queryText(ctx));
    const form = parseForm(text);
    const grant = parseGrant(form, grantTypes);
    return { grant, client: parseClientCredential(ctx.req.headers.authorization, form, ctx.state.address) };
  } catch (error) {
    throw isRefusal(error) ? await recordedRefusal(error, text, ctx, core) : error;
  }
}

/** `POST /oauth/token`. @see specification §4.7, RFC 6749 §3.2 */
export const tokenRoute = (options: TokenRouteOptions): Route => ({
  method: "POST",
  path: "/oauth/token",
  hot: true,
  cors: true,
  print: oauthErrorPrinter(options.issuer),
  async answer(ctx) {
    const { client, grant } = await readRequest(ctx, options);
    const response = await options.core.token({ client, requestId: ctx.state.requestId, grant }, { signal: ctx.state.signal });
    sendJson(ctx, tokenResponseJson(response));
  },
});

/** Specification §2.6. Absent members stay absent: clients choke on `null`. */
const tokenResponseJson = (response: TokenResponse) => ({
  access_token: response.accessToken,
  issued_token_type: response.issuedTokenType,
  token_type: response.tokenType,
  expires_in: response.expiresIn,
  refresh_token: response.refreshToken,
  id_token: response.idToken,
  scope: response.scope,
  pqc_signature: response.pqcSignature,
  pqc_alg: response.pqcAlg,
});
