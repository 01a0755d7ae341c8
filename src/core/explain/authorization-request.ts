import type { AuthorizationRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import { answerableClient, validateRequest } from "../authorization-request.ts";
import { previewOf } from "../grants/grant.ts";
import { GRANT_HELD } from "../policy/grant-type.ts";
import type { RuleHead } from "../policy/rule.ts";
import { requestableScopes, SCOPE_ALLOWED } from "../policy/scope.ts";
import type { Core } from "../ports.ts";
import { traceRules } from "./verdicts.ts";

const ANSWERABLE: RuleHead = {
  name: "client_and_redirect_uri",
  demand: "The client is known and enabled, and redirect_uri is registered for it and permitted in its environment.",
  source: "OAuth 2.1 §4.1.2.1",
};

const PARAMETERS: RuleHead = {
  name: "authorization_parameters",
  demand: "All other parameters are well formed and supported; each resource is a URI or the client_id of a client.",
  source: "OAuth 2.1 §4.1.1, RFC 8707 §2, OIDC Core §3.1.2.1",
};

const RULES = [ANSWERABLE, GRANT_HELD, SCOPE_ALLOWED, PARAMETERS];

/**
 * What a code would grant the client if the user consents, rule by rule, with the scopes that are dropped. Writes nothing.
 * @param address of the caller; fetching a metadata document counts against its limit
 */
export async function explainAuthorizationRequest(request: AuthorizationRequest, address: string, core: Core) {
  const { found, verdicts } = await traceRules(RULES, async (trace) => {
    const client = await trace.settle(ANSWERABLE, answerableClient(request, address, core));
    trace.check(GRANT_HELD, { client, grant: { case: "authorizationCode" } });
    trace.check({ ...SCOPE_ALLOWED, check: () => requestableScopes(request.scope, client) }, undefined);
    return trace.settle(PARAMETERS, validateRequest(request, client, core));
  });
  if (found === undefined) return { rules: verdicts };
  const { client, scopes, resources, droppedScopes } = found;
  return {
    rules: verdicts,
    droppedScope: [...droppedScopes],
    granted: {
      ...previewOf(scopes, resources.length > 0 ? resources : [client.clientId], core),
      refreshToken: client.grantTypes.includes("refresh_token"),
      idToken: scopes.includes("openid"),
    },
  };
}
