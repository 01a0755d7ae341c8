import { type Client, isConfidential } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { ClientCredentialsGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { GRANTS } from "../../../protocol/grants.ts";
import { printScope } from "../../../protocol/scope.ts";
import { checkGrantUse, GRANT_RULES } from "../../policy/grant-type.ts";
import { clientAudience } from "../../policy/resource.ts";
import { ENFORCED, type Rule } from "../../policy/rule.ts";
import { clientScopes } from "../../policy/scope.ts";
import { newJti } from "../../tokens/access-token.ts";
import { CONFIDENTIAL_ONLY, type Grant, type GrantRequest, previewOf } from "../grant.ts";
import { accessTokenAnswer } from "../token-answer.ts";

type Request = { readonly client: Client; readonly params: ClientCredentialsGrant };

const CONFIDENTIAL_CLIENT: Rule<{ readonly client: Client }> = {
  name: "confidential_client",
  demand: "The client authenticates; a public client has no access of its own.",
  source: "RFC 6749 §4.4",
  check: ({ client }) => {
    if (!isConfidential(client)) throw new Refusal("unauthorized_client", "public_client");
  },
};

const SCOPE: Rule<Request, readonly string[]> = {
  name: "scope",
  demand: "At least one scope, all of them in the client's allowlist and under its ceiling, none that needs a user.",
  source: "docs/protocol.md#client-credentials",
  check: ({ client, params }) => clientScopes(params.scope, client),
};

const RESOURCE: Rule<Request, readonly string[]> = {
  name: "resource",
  demand: "resource lies within the client's audience, which is its client_id unless an operator configured another.",
  source: "docs/protocol.md#client-credentials",
  check: ({ client, params }) => clientAudience(params.resource, client),
};

/**
 * Decides the scopes and the audience of a client's own token. Pure.
 * @throws {Refusal} unauthorized_client, invalid_scope, invalid_target
 * @see RFC 6749 §4.4, docs/protocol.md#client-credentials
 */
export function decideClientCredentials(client: Client, params: ClientCredentialsGrant, trace = ENFORCED) {
  const request = { client, params };
  trace.check(CONFIDENTIAL_CLIENT, request);
  return { scopes: trace.check(SCOPE, request), audience: trace.check(RESOURCE, request) };
}

function decide(request: GrantRequest<"clientCredentials">, trace = ENFORCED) {
  checkGrantUse(request, trace);
  return decideClientCredentials(request.client, request.grant.value, trace);
}

export const clientCredentials: Grant<"clientCredentials"> = {
  rules: [...GRANT_RULES, CONFIDENTIAL_CLIENT, SCOPE, RESOURCE],
  refusalAudit: CONFIDENTIAL_ONLY,

  async issue(request, core) {
    const { scopes, audience } = decide(request);
    const { client, requestId, confirmation: cnf } = request;
    const { clientId } = client;
    const jti = newJti(core.randomBytes);
    // The record is started first, so that the database works while this process signs. The answer waits for both: no record, no token.
    const recorded = core.audit.recordIssue({
      event: "token.issued",
      outcome: "success",
      actor: { type: "client", id: clientId },
      clientId,
      grantType: GRANTS.clientCredentials.grantType,
      scope: printScope(scopes),
      resources: audience,
      jti,
      requestId,
    });
    const signed = accessTokenAnswer({ subject: clientId, client, scopes, audience, jti, lifetime: core.lifetimes.accessToken, cnf }, core);
    const [answer] = await Promise.all([signed, recorded]);
    return answer;
  },

  async preview(request, core, trace) {
    const { scopes, audience } = decide(request, trace);
    return { ...previewOf(scopes, audience, core), sub: request.client.clientId };
  },
};
