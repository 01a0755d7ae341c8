import { type Client, PERSONAL_SCOPES } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { JwtBearerGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { parseScope } from "../../../protocol/access.ts";
import { detailsRefused, GRANTS } from "../../../protocol/grants.ts";
import type { ResourceTerms } from "../../../resources/resource.ts";
import { AGENT_SCOPES, allowedAt } from "../../policy/access.ts";
import { ENFORCED, type Rule, type RuleHead, withoutDetails } from "../../policy/rule.ts";
import type { Core } from "../../ports.ts";
import { consumeWorkload } from "../../workload/authentication.ts";
import { issueOwnToken, RESOURCE, refuseScope } from "../client-credentials/grant.ts";
import { type Grant, type GrantRequest, previewOf, termsOfAudience } from "../grant.ts";

type Facts = { readonly client: Client; readonly params: JwtBearerGrant; readonly terms: readonly ResourceTerms[] };

const NO_DETAILS: Rule<Facts> = {
  name: "no_authorization_details",
  demand: "The request has no authorization_details.",
  source: "RFC 9396 §5",
  check({ params }) {
    if (params.authorizationDetailsPresent) throw detailsRefused();
  },
};

const RESOURCE_NAMED: Rule<Facts> = {
  name: "resource_named",
  demand: "The request names at least one resource.",
  source: "SEP-1933",
  check({ params: { resource } }) {
    if (resource.length === 0) throw new Refusal("invalid_target", "resource_missing", { description: "resource is missing." });
  },
};

const SCOPE: Rule<Facts, readonly string[]> = {
  name: "scope",
  demand:
    "All scopes are in the client's allowlist and under its ceiling, and none needs a user. Without scope: all of these, but for agent modes.",
  source: "docs/protocol.md#workload-grant",
  check({ client, params, terms }) {
    const allowed = allowedAt(client, { resources: params.resource, terms }).filter((name) => !PERSONAL_SCOPES.has(name));
    const requested = parseScope(params.scope);
    if (!requested.every((name) => allowed.includes(name))) refuseScope();
    const scopes = requested.length > 0 ? requested : allowed.filter((name) => !AGENT_SCOPES.includes(name));
    if (scopes.length === 0) throw new Refusal("invalid_scope", "no_scope_left", { description: "The client may have no scope." });
    return scopes;
  },
};

export const WORKLOAD_UNUSED: RuleHead = {
  name: "workload_unused",
  demand: "A token that may be used once has not been used. It is used up last.",
  source: "docs/protocol.md#workloads",
};

/** A token that was used before is no better than any other that is refused. */
const asInvalidGrant = withoutDetails("invalid_grant");

/** Evaluates the rules. The token is used up; for `explain`, whose core uses nothing up, it is only looked up. */
async function decide({ client, grant: { value: params }, workload }: GrantRequest<"jwtBearer">, core: Core, trace = ENFORCED) {
  const terms = await termsOfAudience(client, core);
  const facts = { client, params, terms };
  trace.check(NO_DETAILS, facts);
  trace.check(RESOURCE_NAMED, facts);
  const [scopes, audience] = [trace.check(SCOPE, facts), trace.check(RESOURCE, { client, resource: params.resource, terms })];
  const { proof } = workload ?? {};
  if (proof !== undefined) await trace.masked(asInvalidGrant).settle(WORKLOAD_UNUSED, consumeWorkload(proof.known, proof.use, core));
  return { scopes, audience, terms };
}

/**
 * Gives the client of a workload a token of its own, without any credential of the client: the token of the platform is the grant.
 * @see RFC 7523 §2.1, SEP-1933, docs/protocol.md#workload-grant
 */
export const workloadGrant: Grant<"jwtBearer"> = {
  rules: [NO_DETAILS, RESOURCE_NAMED, SCOPE, RESOURCE, WORKLOAD_UNUSED],

  async issue(request, core) {
    return issueOwnToken({ ...request, ...(await decide(request, core)), grantType: GRANTS.jwtBearer.grantType }, core);
  },

  async preview(request, core, trace) {
    const { scopes, audience, terms } = await decide(request, core, trace);
    return { ...previewOf(scopes, audience, core, terms), sub: request.client.clientId };
  },
};
