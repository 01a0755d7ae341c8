import { Refusal } from "../../../errors.ts";
import { isWebResource, sameResource } from "../../../protocol/resource.ts";
import { parseScope } from "../../../protocol/scope.ts";
import { appendActor } from "../../policy/delegation.ts";
import { exchangedAudience } from "../../policy/resource.ts";
import { ENFORCED, type Rule, type RuleHead } from "../../policy/rule.ts";
import { exchangedScopes } from "../../policy/scope.ts";
import type { NewDelegation } from "../../ports.ts";
import type { TokenRoot } from "../../token-state.ts";
import { type Actor, audienceList } from "../../tokens/access-token.ts";
import { requestsAssertion } from "./request-rules.ts";
import {
  AGENT_RULES,
  type ExchangeFacts,
  type PresentedToken,
  SUBJECT_KNOWN,
  SUBJECT_RULES,
  SUBJECT_SIGNED_IN,
  type SubjectFacts,
} from "./subject-rules.ts";

const SCOPE: Rule<SubjectFacts, readonly string[]> = {
  name: "scope",
  demand: "The scope lies within the subject token's, under the agent's ceiling (maxAgentMode) and in its allowlist.",
  source: "docs/protocol.md#token-exchange",
  check: ({ params, subject, client }) => exchangedScopes(params.scope, parseScope(subject.claims.scope), client),
};

const TARGET: Rule<SubjectFacts, readonly string[]> = {
  name: "target",
  demand: "resource and audience lie within the subject token's aud; clients that are disabled or deleted are left out.",
  source: "docs/protocol.md#token-exchange",
  check: ({ params, subject, clients }) =>
    exchangedAudience([...params.resource, ...params.audience], audienceList(subject.claims), clients),
};

/** An identity assertion for this issuer would only say what this issuer knows. */
const THIRD_PARTY_ISSUER: Rule<SubjectFacts> = {
  name: "other_issuer",
  demand: "An identity assertion is for another issuer than this one.",
  source: "ID-JAG §4.3",
  check: ({ params, issuer }) => {
    const [audience = ""] = params.audience;
    if (requestsAssertion(params) && (sameResource(audience, issuer) || !isWebResource(audience)))
      throw new Refusal("invalid_target", "audience_is_no_other_issuer", {
        description: "An identity assertion is for one other authorization server: audience must be its issuer.",
      });
  },
};

/** An agent that requests an assertion counts as an actor, but the assertion names only those before it: the draft leaves this open. */
const CHAIN_LENGTH: Rule<SubjectFacts, Actor | undefined> = {
  name: "chain_length",
  demand: "A chain has at most four actors, the requesting agent included.",
  source: "docs/protocol.md#token-exchange",
  check: ({ params, subject, client }) => {
    const { act } = subject.claims;
    const extended = appendActor(act, client.clientId);
    return requestsAssertion(params) ? act : extended;
  },
};

/** What is evaluated once the request is well formed, in order: the tokens, then what they are exchanged for. */
export const TOKEN_RULES: readonly RuleHead[] = [
  SUBJECT_KNOWN,
  ...SUBJECT_RULES,
  SUBJECT_SIGNED_IN,
  ...AGENT_RULES,
  SCOPE,
  TARGET,
  THIRD_PARTY_ISSUER,
  CHAIN_LENGTH,
];

/** An exchange in the values that are granted. */
export interface Exchange extends Pick<NewDelegation, "kind" | "scopes" | "audience"> {
  readonly subject: PresentedToken;
  readonly root: TokenRoot;
  readonly act: Actor | undefined;
}

/**
 * Decides what an agent receives for a user's token. Pure; the request has passed `checkExchangeRequest`.
 * @throws {Refusal} of the first rule that does not hold
 * @see RFC 8693 §2, docs/protocol.md#token-exchange
 */
export function decideExchange(presented: ExchangeFacts, trace = ENFORCED): Exchange {
  const subject = trace.check(SUBJECT_KNOWN, presented);
  const facts = { ...presented, subject };
  for (const rule of SUBJECT_RULES) trace.check(rule, facts);
  const root = trace.check(SUBJECT_SIGNED_IN, facts);
  for (const rule of AGENT_RULES) trace.check(rule, facts);
  const scopes = trace.check(SCOPE, facts);
  const audience = trace.check(TARGET, facts);
  trace.check(THIRD_PARTY_ISSUER, facts);
  return {
    kind: requestsAssertion(facts.params) ? "id_jag" : "access_token",
    subject,
    root,
    scopes,
    audience,
    act: trace.check(CHAIN_LENGTH, facts),
  };
}
