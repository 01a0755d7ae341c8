import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "../clients/client.ts";
import { Refusal } from "../errors.ts";
import { type AuthorizationRequest, type RuleVerdictSchema, type TokenRequest, Verdict } from "../gen/countersign/token/v1/token_pb.ts";
import { type GrantCase, grantCaseOf } from "../protocol/grants.ts";
import { answerableClient, requestedTarget, validateRequest } from "./authorization-request.ts";
import { type Assertion, checkAssertion } from "./client-assertion.ts";
import { CLIENT_RULES, evaluateClient, registeredMethod } from "./client-authentication.ts";
import { GRANT_HELD, previewOf } from "./grants/grant.ts";
import { requestableScopes, SCOPE_ALLOWED } from "./policy/access.ts";
import { isVerdict, type RuleHead, type RuleOutcome, type RuleTrace, ruleTrace } from "./policy/rule.ts";
import type { Core, RefusedRequest } from "./ports.ts";
import { GRANT_ROWS, prefetch } from "./token-request.ts";

type RecordedVerdict = MessageInitShape<typeof RuleVerdictSchema>;

const verdictOn = (
  { name: rule, demand, source }: RuleHead,
  verdict: Verdict,
  refusal?: { readonly error: string | undefined; readonly reason: string },
): RecordedVerdict => ({
  rule,
  demand,
  source,
  verdict,
  ...(refusal && { reason: refusal.reason, ...(refusal.error !== undefined && { error: refusal.error }) }),
});

function printed(rule: RuleHead, outcome: RuleOutcome | undefined): RecordedVerdict {
  if (outcome === undefined) return verdictOn(rule, Verdict.NOT_REACHED);
  if (outcome === "passed") return verdictOn(rule, Verdict.PASSED);
  if (outcome === "assumed") return verdictOn(rule, Verdict.TAKEN_FOR_GRANTED);
  return verdictOn(rule, Verdict.REFUSED, { error: outcome.code, reason: outcome.reason });
}

/**
 * Runs rules and keeps their verdicts. Nothing after the first refusal is evaluated.
 * @param rules all that `run` may evaluate, in order
 * @returns a verdict for each rule, and what the run found; undefined when a rule refused
 * @throws whatever is not the refusal of a rule: an outage says nothing about the request
 */
export async function traceRules<Found>(rules: readonly RuleHead[], run: (trace: RuleTrace) => Promise<Found>) {
  const outcomes = new Map<string, RuleOutcome>();
  const trace = ruleTrace(({ name }, outcome) => {
    if (!rules.some((rule) => rule.name === name)) throw new Error(`the rule ${name} is not among the rules that are explained`);
    outcomes.set(name, outcome);
  });
  let found: Found | undefined;
  try {
    found = await run(trace);
  } catch (error) {
    if (!isVerdict(error)) throw error;
  }
  return { found, verdicts: rules.map((rule) => printed(rule, outcomes.get(rule.name))) };
}

export const rulesOf = (name: GrantCase): readonly RuleHead[] => [...Object.values(CLIENT_RULES), ...GRANT_ROWS[name].rules];

/** Verifies an assertion without using it up. @throws {Refusal} invalid_client */
async function assertUnused(assertion: Assertion, client: Client, core: Core): Promise<void> {
  const { jti } = await checkAssertion(assertion, client, core);
  if (await core.consumedIds.isConsumed("client_assertion", client.clientId, jti))
    throw new Refusal("invalid_client", "assertion_used_before");
}

/**
 * Explains, rule by rule, what the token endpoint would answer now. Writes nothing and uses up no code, token, assertion or attempt. An
 * operator knows no client secrets, so the proof of a confidential client that presents nothing is assumed.
 * @throws {Refusal} unsupported_grant_type for a request without a grant, temporarily_unavailable
 */
export async function explainTokenRequest({ client: credential, requestId, grant }: TokenRequest, core: Core) {
  if (grant.case === undefined || grant.case === "refusedTokenExchange") throw new Refusal("unsupported_grant_type", "grant_missing");
  const { found, verdicts } = await traceRules(rulesOf(grant.case), async (trace) => {
    const presented = trace.check(CLIENT_RULES.credential, credential);
    const prefetched = prefetch(grant, presented.clientId, core);
    const attempt = { presented, address: credential?.address ?? "", client: prefetched.client, methodRule: registeredMethod };
    const proveBy = (assertion: Assertion, named: Client) => assertUnused(assertion, named, core);
    const client = await evaluateClient(attempt, { trace, proveBy, assumesProof: true });
    return GRANT_ROWS[grant.case].preview({ client, grant, requestId, prefetched, refusalDetails: {} }, core, trace);
  });
  return { rules: verdicts, ...(found && { granted: found }) };
}

/** Empty when the record does not name a rule, or this release has no such rule. */
function verdictsOf({ grantType, rule, error, reason }: RefusedRequest): readonly RecordedVerdict[] {
  const grant = grantCaseOf(grantType);
  const rules = grant === undefined ? [] : rulesOf(grant);
  const at = rules.findIndex(({ name }) => name === rule);
  if (at === -1) return [];
  return rules.map((each, index) => {
    if (index === at) return verdictOn(each, Verdict.REFUSED, { error, reason });
    return verdictOn(each, index < at ? Verdict.PASSED : Verdict.NOT_REACHED);
  });
}

/**
 * Explains from its audit record why a token request was refused.
 * @param requestId X-Request-Id of the answer
 * @throws {Refusal} not_found without a record of a refusal
 */
export async function explainRefusal(requestId: string, core: Core) {
  const refused = await core.audit.refusalOf(requestId);
  if (refused === undefined) {
    const description = "No refusal of a token request is on record under this id.";
    throw new Refusal("not_found", "no_refusal_of_request", { description });
  }
  const { clientId, grantType, reason, error, at } = refused;
  return { rules: [...verdictsOf(refused)], refused: { clientId, grantType, reason, at, ...(error !== undefined && { error }) } };
}

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
 * Explains, rule by rule, what a code would grant if the user consents, and which scopes are dropped. Writes nothing.
 * @param address of the caller; fetching a metadata document counts against its limit
 */
export async function explainAuthorizationRequest(request: AuthorizationRequest, address: string, core: Core) {
  const { found, verdicts } = await traceRules(RULES, async (trace) => {
    const client = await trace.settle(ANSWERABLE, answerableClient(request, address, core));
    trace.check(GRANT_HELD, { client, grant: { case: "authorizationCode" } });
    const target = await requestedTarget(request, client, core);
    trace.check({ ...SCOPE_ALLOWED, check: () => requestableScopes(request.scope, client, target) }, undefined);
    return trace.settle(PARAMETERS, validateRequest(request, client, core));
  });
  if (found === undefined) return { rules: verdicts };
  const { client, scopes, resources, terms, droppedScopes } = found;
  return {
    rules: verdicts,
    droppedScope: [...droppedScopes],
    granted: {
      ...previewOf(scopes, resources.length > 0 ? resources : [client.clientId], core, terms),
      refreshToken: client.grantTypes.includes("refresh_token"),
      idToken: scopes.includes("openid"),
    },
  };
}
