import { Refusal } from "../../../errors.ts";
import { hasExpired, stateHolds } from "../../introspection.ts";
import type { Rule } from "../../policy/rule.ts";
import type { TokenState } from "../../token-state.ts";
import { type AccessTokenClaims, audienceList, tokenReference } from "../../tokens/access-token.ts";
import { type ExchangeRequest, invalid } from "./request-rules.ts";

/** An access token of ours that was presented, by its signature, with how it stands. */
export interface PresentedToken {
  readonly claims: AccessTokenClaims;
  readonly state: TokenState;
}

export interface ExchangeFacts extends ExchangeRequest {
  /** Undefined for a text that is no access token of ours. */
  readonly subject: PresentedToken | undefined;
  readonly actor: PresentedToken | undefined;
  /** Clients that the request or the subject token's audience names: those that exist, each with whether it is enabled. */
  readonly clients: ReadonlyMap<string, boolean>;
  readonly issuer: string;
}

/** The subject token of facts in which there is one. */
export function subjectOf({ subject }: ExchangeFacts): PresentedToken {
  return subject ?? invalid("subject_token_not_ours");
}

function assertSubjectUnexpired(facts: ExchangeFacts): void {
  const { claims, state } = subjectOf(facts);
  if (hasExpired(claims, state)) invalid("subject_token_expired");
}

/** A client's own token has no person behind it whom anybody could act for. */
function assertSubjectIsUser(facts: ExchangeFacts): void {
  if (tokenReference(subjectOf(facts).claims).userId === undefined) invalid("subject_is_no_user");
}

function assertSubjectEnabled(facts: ExchangeFacts): void {
  if (subjectOf(facts).state.subject?.enabled !== true) invalid("subject_user_disabled");
}

function assertSubjectLives(facts: ExchangeFacts): void {
  const { claims, state } = subjectOf(facts);
  if (!stateHolds(claims, state)) invalid("subject_token_ended");
}

function assertNotSignedOut(facts: ExchangeFacts): void {
  if (subjectOf(facts).state.root?.signedOut !== false) invalid("subject_signed_out");
}

function assertMeantForAgent(facts: ExchangeFacts): void {
  if (!audienceList(subjectOf(facts).claims).includes(facts.client.clientId)) invalid("subject_token_not_for_agent");
}

/** An operator has paused the agent for everybody, or the person has for herself. */
function assertNotPaused(facts: ExchangeFacts): void {
  if (subjectOf(facts).state.agentPaused) throw new Refusal("unauthorized_client", "agent_paused");
}

/** The agent proves by it that it is itself; another's token would lend it another's name. */
function assertActorIsClient({ grant, actor, client }: ExchangeFacts): void {
  if (grant.actorToken === undefined) return;
  const { claims, state } = actor ?? invalid("actor_token_not_ours");
  if (hasExpired(claims, state)) invalid("actor_token_expired");
  if (tokenReference(claims).userId !== undefined || claims.sub !== client.clientId) invalid("actor_is_not_the_client");
  if (!stateHolds(claims, state)) invalid("actor_token_ended");
}

function assertMayAct(facts: ExchangeFacts): void {
  const { may_act } = subjectOf(facts).claims;
  if (may_act !== undefined && may_act.sub !== facts.client.clientId) invalid("may_act_names_another");
}

/** Held again when the exchange is stored: what ended meanwhile ends it too. */
export const SUBJECT_LIVES: Rule<ExchangeFacts> = {
  name: "subject_token_lives",
  demand: "Neither the subject token nor anything that it descends from has been ended.",
  source: "specification §3",
  assert: assertSubjectLives,
};

/** What is judged by the tokens that were presented and by what is behind them, in order. */
export const PRESENTED_RULES: readonly Rule<ExchangeFacts>[] = [
  {
    name: "subject_token_ours",
    demand: "subject_token is an access token of this issuer, by its signature.",
    source: "specification §4.7 rule 3",
    assert: subjectOf,
  },
  {
    name: "subject_token_unexpired",
    demand: "The subject token has not expired.",
    source: "specification §4.7 rule 3",
    assert: assertSubjectUnexpired,
  },
  {
    name: "subject_is_person",
    demand: "There is a person behind the subject token.",
    source: "specification §4.7 rule 3",
    assert: assertSubjectIsUser,
  },
  {
    name: "subject_user_enabled",
    demand: "The person exists and is enabled.",
    source: "specification §4.7 rule 3",
    assert: assertSubjectEnabled,
  },
  SUBJECT_LIVES,
  {
    name: "subject_signed_in",
    demand: "The person has not signed out since the grant was given.",
    source: "specification §3",
    assert: assertNotSignedOut,
  },
  {
    name: "subject_token_for_agent",
    demand: "The subject token's aud contains the agent's client_id.",
    source: "specification §4.7 rule 3",
    assert: assertMeantForAgent,
  },
  {
    name: "agent_not_paused",
    demand: "The agent is paused neither by an operator nor by the person.",
    source: "decision 0011",
    assert: assertNotPaused,
  },
  {
    name: "actor_token",
    demand: "actor_token, if sent, is a living access token of the agent's own.",
    source: "RFC 8693 §2.1",
    assert: assertActorIsClient,
  },
  { name: "may_act", demand: "may_act of the subject token, if there, names the agent.", source: "RFC 8693 §4.4", assert: assertMayAct },
];
