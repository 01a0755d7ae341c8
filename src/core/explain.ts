import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, demandsOf } from "../clients/client.ts";
import { Refusal } from "../errors.ts";
import {
  type AuthorizationRequest,
  type DpopProof,
  type RuleVerdictSchema,
  type TokenRequest,
  Verdict,
  type WorkloadToken,
} from "../gen/countersign/token/v1/token_pb.ts";
import { type GrantCase, grantCaseOf } from "../protocol/grants.ts";
import { answerableClient, FORM, PUSHED, requestedTarget, validateRequest } from "./authorization-request.ts";
import { CLIENT_RULES, evaluateClient, identified, registeredMethod } from "./client-authentication.ts";
import { consumeProof, DPOP_PROOF, verifyProof } from "./dpop.ts";
import { GRANT_HELD, previewOf } from "./grants/grant.ts";
import {
  evaluateWorkloadGrant,
  judgeWorkload,
  presentsWorkload,
  WORKLOAD_GRANT_AUTHENTICATION,
  WORKLOAD_RULES,
} from "./grants/workload/authentication.ts";
import { WORKLOAD_UNUSED } from "./grants/workload/grant.ts";
import { requestableScopes, SCOPE_ALLOWED } from "./policy/access.ts";
import { isVerdict, type RuleHead, type RuleOutcome, type RuleTrace, ruleTrace } from "./policy/rule.ts";
import type { Core, RefusedRequest } from "./ports.ts";
import type { Confirmation } from "./stored-grants.ts";
import { prefetch, rowOf } from "./token-request.ts";
import { consumeWorkload } from "./workload/authentication.ts";

type RecordedVerdict = MessageInitShape<typeof RuleVerdictSchema>;

const verdictOn = (
  { name: rule, demand, source }: RuleHead,
  verdict: Verdict,
  refusal?: { readonly error: string | null; readonly reason: string },
): RecordedVerdict => ({
  rule,
  demand,
  source,
  verdict,
  ...(refusal && { reason: refusal.reason, ...(refusal.error !== null && { error: refusal.error }) }),
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
 * @returns a verdict for each rule, conditional ones only if they were evaluated, and what the run found; undefined when a rule refused
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
  const listed = rules.filter((rule) => !rule.conditional || outcomes.has(rule.name));
  return { found, verdicts: listed.map((rule) => printed(rule, outcomes.get(rule.name))) };
}

/** @param isWorkload whether a jwt-bearer request presents the token of a platform */
export const rulesOf = (name: GrantCase, isWorkload = false): readonly RuleHead[] => [
  ...(isWorkload ? WORKLOAD_GRANT_AUTHENTICATION : Object.values(CLIENT_RULES)),
  DPOP_PROOF,
  ...rowOf(name, isWorkload).rules,
];

/** The core for a question: nothing is used up, and what was used before counts as used. */
function unconsuming(core: Core): Core {
  const { consumedIds } = core;
  const consume: Core["consumedIds"]["consume"] = async (kind, issuer, id) => !(await consumedIds.isConsumed(kind, issuer, id));
  return { ...core, consumedIds: { ...consumedIds, consume } };
}

/** The key that a request proves, if it does. @throws {Refusal} invalid_dpop_proof, use_dpop_nonce */
const keyOf = async (presented: DpopProof | undefined, client: Client, core: Core): Promise<Confirmation | undefined> =>
  presented && consumeProof(verifyProof(presented, core, demandsOf(client)), core);

/**
 * Explains, rule by rule, what the token endpoint would answer now. Writes nothing and uses up no code, token, assertion or attempt. An
 * operator knows no client secrets, so the proof of a confidential client that presents nothing is assumed.
 * @throws {Refusal} unsupported_grant_type for a request without a grant, temporarily_unavailable
 */
export async function explainTokenRequest({ client: credential, requestId, grant }: TokenRequest, consuming: Core) {
  const core = unconsuming(consuming);
  if (grant.case === undefined || grant.case === "refusedTokenExchange") throw new Refusal("unsupported_grant_type", "grant_missing");
  const isWorkload = grant.case === "jwtBearer" && (await presentsWorkload(grant.value, core).catch(unserved));
  const { found, verdicts } = await traceRules(rulesOf(grant.case, isWorkload), async (trace) => {
    const authenticated = isWorkload
      ? { ...(await evaluateWorkloadGrant({ client: credential, grant }, core, { trace })), prefetched: {} }
      : await authenticatedClientOf({ client: credential, grant }, core, trace);
    // Only the client can make a proof.
    const assumed = demandsOf(authenticated.client).boundTokens && credential?.dpop === undefined;
    if (assumed) trace.assume(DPOP_PROOF);
    const proven = assumed ? undefined : await trace.settle(DPOP_PROOF, keyOf(credential?.dpop, authenticated.client, core));
    const request = { ...authenticated, grant, requestId, refusalDetails: {}, ...(proven && { confirmation: proven }) };
    return rowOf(grant.case, isWorkload).preview(request, core, trace);
  });
  return { rules: verdicts, ...(found && { granted: found }) };
}

/** A grant that is not served is refused by a rule. */
function unserved(error: unknown): false {
  if (isVerdict(error)) return false;
  throw error;
}

type Presented = Pick<TokenRequest, "client" | "grant">;

async function authenticatedClientOf({ client: credential, grant }: Presented, core: Core, trace: RuleTrace) {
  const presented = await identified(trace.check(CLIENT_RULES.credential, credential), core);
  const { client, ...prefetched } = prefetch(grant, presented.clientId, core);
  const attempt = { presented, client, methodRule: registeredMethod };
  return { prefetched, client: await evaluateClient(attempt, core, { trace, assumesProof: true }) };
}

/** Empty when the record does not name a rule, or this release has no such rule. */
function verdictsOf({ grantType, rule, error, reason, workloadIssuer }: RefusedRequest): readonly RecordedVerdict[] {
  const grant = grantCaseOf(grantType);
  const rules = grant === undefined ? [] : rulesOf(grant, grant === "jwtBearer" && workloadIssuer !== null);
  const at = rules.findIndex(({ name }) => name === rule);
  if (at === -1) return [];
  const listed = rules.filter((each, index) => !each.conditional || index === at);
  const refusing = listed.findIndex(({ name }) => name === rule);
  return listed.map((each, index) => {
    if (index === refusing) return verdictOn(each, Verdict.REFUSED, { error, reason });
    return verdictOn(each, index < refusing ? Verdict.PASSED : Verdict.NOT_REACHED);
  });
}

/**
 * Explains, rule by rule, which client the token of a platform stands for. Writes nothing, and uses nothing up.
 * @see docs/protocol.md#workload-grant
 */
export async function explainWorkloadToken({ token, verifySignature }: WorkloadToken, consuming: Core) {
  const core = unconsuming(consuming);
  const { found, verdicts } = await traceRules([...WORKLOAD_RULES, WORKLOAD_UNUSED], async (trace) => {
    const { client, workload } = await judgeWorkload(token, core, { trace, checksSignature: verifySignature });
    const { known, use } = workload.proof;
    await trace.settle(WORKLOAD_UNUSED, consumeWorkload(known, use, core));
    return client.clientId;
  });
  return { rules: verdicts, ...(found !== undefined && { clientId: found }) };
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
  return { rules: [...verdictsOf(refused)], refused: { clientId, grantType, reason, at, ...(error !== null && { error }) } };
}

const ANSWERABLE: RuleHead = {
  name: "client_and_redirect_uri",
  demand: "The client is known and enabled, and redirect_uri is registered for it and permitted in its environment.",
  source: "OAuth 2.1 §4.1.2.1",
};

const PARAMETERS: RuleHead = {
  name: "authorization_parameters",
  demand: "Each resource is a URI or the client_id of a client; prompt, max_age and id_token_hint are well formed.",
  source: "RFC 8707 §2, OIDC Core §3.1.2.1",
};

const RULES = [ANSWERABLE, FORM, PUSHED, GRANT_HELD, SCOPE_ALLOWED, PARAMETERS];

/**
 * Explains, rule by rule, what a code would grant if the user consents, and which scopes are dropped. Writes nothing.
 * @param address of the caller; fetching a metadata document counts against its limit
 */
export async function explainAuthorizationRequest(request: AuthorizationRequest, address: string, core: Core) {
  const { found, verdicts } = await traceRules(RULES, async (trace) => {
    const client = await trace.settle(ANSWERABLE, answerableClient(request, address, core));
    trace.check(FORM, request);
    // A request is explained before it is pushed.
    const mustBePushed = core.requirePushedRequests || demandsOf(client).pushedRequests;
    if (mustBePushed) trace.assume(PUSHED);
    trace.check(GRANT_HELD, { client, grant: { case: "authorizationCode" } });
    const target = await requestedTarget(request, client, core);
    trace.check({ ...SCOPE_ALLOWED, check: () => requestableScopes(request.scope, client, target) }, undefined);
    return trace.settle(PARAMETERS, validateRequest(mustBePushed ? { ...request, pushedRequest: "" } : request, client, core));
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
