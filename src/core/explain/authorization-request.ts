import type { Client } from "../../clients/client.ts";
import type { AuthorizationRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import { printScope } from "../../protocol/scope.ts";
import { answerableClient, judgeRequest } from "../authorization-request.ts";
import type { Core } from "../core.ts";
import { ACCESS_TOKEN_TYPE } from "../grants/token-exchange/request-rules.ts";
import { assertMayUseGrant, GRANT_HELD } from "../policy/grant-type.ts";
import type { RuleHead } from "../policy/rule.ts";
import { requestableScopes, SCOPE_ALLOWED } from "../policy/scope.ts";
import { openTrace } from "./rule-trace.ts";

const ANSWERABLE: RuleHead = {
  name: "client_and_redirect_uri",
  demand: "The client is known and enabled, and redirect_uri is one that it registered and may have.",
  source: "OAuth 2.1 §4.1.2.1, specification §4.6",
};

const PARAMETERS: RuleHead = {
  name: "authorization_parameters",
  demand: "All other parameters are well formed and supported; each resource is a URI or the client_id of a client.",
  source: "OAuth 2.1 §4.1.1, RFC 8707 §2, OIDC Core §3.1.2.1",
};

/**
 * What a code would entitle the client to, if the user allows it, and by which rules; with the scopes that are dropped. Nothing is written.
 * @param address on whose behalf; what is fetched for a metadata document is counted
 */
export async function explainAuthorizationRequest(request: AuthorizationRequest, address: string, core: Core) {
  const hearing = openTrace();
  const client = await hearing.learn(ANSWERABLE, () => answerableClient(request, address, core));
  const known = client as Client; // rules are judged only while nothing has been refused
  await hearing.learn(GRANT_HELD, () => assertMayUseGrant(known, "authorization_code"));
  await hearing.learn(SCOPE_ALLOWED, () => requestableScopes(request.scope, known));
  const good = await hearing.learn(PARAMETERS, () => judgeRequest(request, known, core));
  const rules = [...hearing.verdicts];
  if (good === undefined) return { rules };
  const { scopes, resources, droppedScopes } = good;
  return {
    rules,
    droppedScope: [...droppedScopes],
    granted: {
      scope: printScope(scopes),
      aud: resources.length > 0 ? [...resources] : [known.clientId],
      expiresIn: core.lifetimes.accessToken,
      issuedTokenType: ACCESS_TOKEN_TYPE,
      refreshToken: known.grantTypes.includes("refresh_token"),
      idToken: scopes.includes("openid"),
    },
  };
}
