import { audienceOf, type Client, isConfidential, PERSONAL_SCOPES } from "../../../clients/client.ts";
import { Refusal, refusing } from "../../../errors.ts";
import { parseScope } from "../../../protocol/access.ts";
import { GRANTS, type GrantType } from "../../../protocol/grants.ts";
import { disabledAmong, type ResourceTerms } from "../../../resources/resource.ts";
import { allowedAt, narrowResource, within } from "../../policy/access.ts";
import { ENFORCED, type Rule } from "../../policy/rule.ts";
import type { Core } from "../../ports.ts";
import { ownJti } from "../../tokens/access-token.ts";
import {
  accessTokenAnswer,
  GRANT_RULES,
  type Grant,
  type GrantRequest,
  issueRecord,
  previewOf,
  type TokenAnswer,
  termsOfAudience,
} from "../grant.ts";

type Request = Pick<GrantRequest<"clientCredentials">, "client" | "grant"> & { readonly terms: readonly ResourceTerms[] };

const CONFIDENTIAL_CLIENT: Rule<Request> = {
  name: "confidential_client",
  demand: "The client authenticates; a public client has no access of its own.",
  source: "RFC 6749 §4.4",
  check: ({ client }) => isConfidential(client) || refusing("unauthorized_client")("public_client"),
};

/** @throws {Refusal} invalid_scope, of a token that stands for no user @see docs/protocol.md#client-credentials */
export const refuseScope = (): never =>
  refusing("invalid_scope")(
    "scope_not_allowed",
    "The client may not have one of these scopes, or it is one for users only (openid, offline_access).",
  );

const SCOPE: Rule<Request, readonly string[]> = {
  name: "scope",
  demand: "At least one scope, all of them in the client's allowlist and under its ceiling, none that needs a user.",
  source: "docs/protocol.md#client-credentials",
  check: ({ client, grant, terms }) => {
    const requested = parseScope(grant.value.scope);
    if (requested.length === 0) throw new Refusal("invalid_scope", "scope_missing", { description: "scope is missing." });
    const { resource } = grant.value;
    const allowed = allowedAt(client, { resources: resource.length > 0 ? resource : audienceOf(client), terms });
    return requested.every((name) => allowed.includes(name) && !PERSONAL_SCOPES.has(name)) ? requested : refuseScope();
  },
};

type Targets = { readonly client: Client; readonly resource: readonly string[]; readonly terms: readonly ResourceTerms[] };

export const RESOURCE: Rule<Targets, readonly string[]> = {
  name: "resource",
  demand:
    "resource lies within the client's audience, which is its client_id unless an operator configured another. Disabled resources are left out.",
  source: "docs/protocol.md#client-credentials",
  check: ({ client, resource, terms }) => {
    const audience = within(audienceOf(client), resource, "resource_outside_audience");
    return terms.length === 0 ? audience : narrowResource([], audience, disabledAmong(audience, terms));
  },
};

/**
 * Decides the scopes and the audience of a client's own token. Pure.
 * @throws {Refusal} unauthorized_client, invalid_request, invalid_scope, invalid_target
 * @see RFC 6749 §4.4, docs/protocol.md#client-credentials
 */
export function decideClientCredentials(request: Request, trace = ENFORCED) {
  for (const rule of GRANT_RULES) trace.check(rule, request);
  trace.check(CONFIDENTIAL_CLIENT, request);
  return { scopes: trace.check(SCOPE, request), audience: trace.check(RESOURCE, { ...request, resource: request.grant.value.resource }) };
}

interface OwnToken extends Pick<GrantRequest, "client" | "requestId" | "confirmation"> {
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly terms: readonly ResourceTerms[];
  readonly grantType: GrantType;
}

export async function issueOwnToken(token: OwnToken, core: Core): Promise<TokenAnswer> {
  const { client, requestId, confirmation: cnf, scopes, audience, terms, grantType } = token;
  const { clientId } = client;
  const jti = ownJti(core.randomBytes, client.id);
  // The record is started first, so that the database works while this process signs. The answer waits for both: no record, no token.
  const recorded = core.audit.recordIssue(issueRecord("client", { clientId, grantType, scopes, audience, jti, requestId }));
  const signed = accessTokenAnswer({ subject: clientId, client, scopes, audience, jti, terms, cnf }, core);
  const [answer] = await Promise.all([signed, recorded]);
  return answer;
}

export const clientCredentials: Grant<"clientCredentials"> = {
  rules: [...GRANT_RULES, CONFIDENTIAL_CLIENT, SCOPE, RESOURCE],

  async issue(request, core) {
    const terms = await termsOfAudience(request.client, core);
    const decided = decideClientCredentials({ ...request, terms });
    return issueOwnToken({ ...request, ...decided, terms, grantType: GRANTS.clientCredentials.grantType }, core);
  },

  async preview(request, core, trace) {
    const terms = await termsOfAudience(request.client, core);
    const { scopes, audience } = decideClientCredentials({ ...request, terms }, trace);
    return { ...previewOf(scopes, audience, core, terms), sub: request.client.clientId };
  },
};
