import type { GrantType } from "../clients/client.ts";
import type { TokenResponse } from "../gen/countersign/token/v1/token_pb.ts";
import type { TokenCore } from "../grpc/local.ts";
import { assertNoCredentialInQuery, parseClientCredential } from "../protocol/client-credential.ts";
import { parseGrant } from "../protocol/token-request.ts";
import { formBody } from "./middleware/body.ts";
import { oauthErrorPrinter } from "./middleware/errors.ts";
import { sendJson } from "./middleware/headers.ts";
import { queryText, type RouteGroup } from "./routes.ts";

export interface TokenRouteOptions {
  readonly core: TokenCore;
  readonly issuer: string;
  /** The grants that are served, as the metadata advertises them. */
  readonly grantTypes: readonly GrantType[];
}

/** `POST /oauth/token`. @see specification §4.7, RFC 6749 §3.2 */
export const tokenRoutes = ({ core, issuer, grantTypes }: TokenRouteOptions): RouteGroup => ({
  fixed: {
    "/oauth/token": {
      cors: true,
      print: oauthErrorPrinter(issuer),
      methods: {
        async POST(ctx) {
          assertNoCredentialInQuery(queryText(ctx));
          const form = await formBody(ctx);
          const grant = parseGrant(form, grantTypes);
          const client = parseClientCredential(ctx.req.headers.authorization, form, ctx.state.address);
          const answer = await core.token({ client, requestId: ctx.state.requestId, grant }, { signal: ctx.state.signal });
          sendJson(ctx, tokenResponseJson(answer));
        },
      },
    },
  },
});

/** Specification §2.6. Absent members stay absent: clients choke on `null`. */
const tokenResponseJson = (answer: TokenResponse) => ({
  access_token: answer.accessToken,
  issued_token_type: answer.issuedTokenType,
  token_type: answer.tokenType,
  expires_in: answer.expiresIn,
  refresh_token: answer.refreshToken,
  id_token: answer.idToken,
  scope: answer.scope,
  pqc_signature: answer.pqcSignature,
  pqc_alg: answer.pqcAlg,
});
