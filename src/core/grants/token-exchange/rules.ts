import { Refusal } from "../../../errors.ts";
import { isWebResource, sameResource } from "../../../protocol/resource.ts";
import { parseScope } from "../../../protocol/scope.ts";
import { appendActor } from "../../policy/delegation.ts";
import { exchangedAudience } from "../../policy/resource.ts";
import { assertRules, type Rule } from "../../policy/rule.ts";
import { exchangedScopes } from "../../policy/scope.ts";
import type { TokenRoot } from "../../token-state.ts";
import { type Actor, audienceList } from "../../tokens/access-token.ts";
import { invalid, mintsAssertion, REQUEST_RULES } from "./request-rules.ts";
import { type ExchangeFacts, PRESENTED_RULES, type PresentedToken, subjectOf } from "./token-rules.ts";

export const scopesOf = (facts: ExchangeFacts): readonly string[] =>
  exchangedScopes(facts.grant.scope, parseScope(subjectOf(facts).claims.scope), facts.client);

export const audienceFor = (facts: ExchangeFacts): readonly string[] =>
  exchangedAudience([...facts.grant.resource, ...facts.grant.audience], audienceList(subjectOf(facts).claims), facts.clients);

/** An assertion is for another authorization server: ours would only be told what it knows. */
function assertThirdPartyIssuer(facts: ExchangeFacts): void {
  const [audience = ""] = facts.grant.audience;
  if (mintsAssertion(facts) && (sameResource(audience, facts.issuer) || !isWebResource(audience)))
    throw new Refusal("invalid_target", "audience_is_no_other_issuer", {
      description: "An identity assertion is for one other authorization server: audience must be its issuer.",
    });
}

/**
 * Who asks for an assertion acts like anybody else, and counts. The assertion names those before it alone: the draft leaves the actor open.
 */
export const chainOf = (facts: ExchangeFacts): Actor | undefined => {
  const { act } = subjectOf(facts).claims;
  const grown = appendActor(act, facts.client.clientId);
  return mintsAssertion(facts) ? act : grown;
};

/** What is judged once the request itself is good, in order: the tokens first, then what is wanted of them. */
export const TOKEN_RULES: readonly Rule<ExchangeFacts>[] = [
  ...PRESENTED_RULES,
  {
    name: "scope",
    demand: "The scope lies within the subject token's, under the agent's ceiling (maxAgentMode) and in its own allowlist.",
    source: "specification §4.7 rule 4, §5",
    assert: scopesOf,
  },
  {
    name: "target",
    demand: "resource and audience lie within the subject token's aud; clients that are disabled or deleted are left out.",
    source: "specification §4.7 rule 4",
    assert: audienceFor,
  },
  {
    name: "other_issuer",
    demand: "An identity assertion is for another issuer than this one.",
    source: "ID-JAG §4.3",
    assert: assertThirdPartyIssuer,
  },
  {
    name: "chain_length",
    demand: "No more than four act in a chain, the agent that asks among them.",
    source: "specification §4.7 rule 7",
    assert: chainOf,
  },
];

/** An exchange in the values that are granted. */
export interface Exchange {
  readonly kind: "access_token" | "id_jag";
  readonly subject: PresentedToken;
  readonly root: TokenRoot;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly act: Actor | undefined;
}

/**
 * What an agent gets in exchange for a person's token. Pure: every rule in its order, then the values.
 * @throws {Refusal} of the first rule that does not hold
 * @see RFC 8693 §2, specification §4.7
 */
export function decideExchange(facts: ExchangeFacts): Exchange {
  assertRules(REQUEST_RULES, facts);
  assertRules(TOKEN_RULES, facts);
  const subject = subjectOf(facts);
  return {
    kind: mintsAssertion(facts) ? "id_jag" : "access_token",
    subject,
    root: subject.state.root ?? invalid("subject_signed_out"),
    scopes: scopesOf(facts),
    audience: audienceFor(facts),
    act: chainOf(facts),
  };
}
