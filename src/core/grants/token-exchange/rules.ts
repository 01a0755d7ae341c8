import type { Client } from "../../../clients/client.ts";
import { Refusal, refusing } from "../../../errors.ts";
import type { TokenExchangeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { isWebResource, parseScope, sameResource } from "../../../protocol/access.ts";
import type { ResourceTerms } from "../../../resources/resource.ts";
import { refuseProof } from "../../dpop.ts";
import { exchangedAudience, exchangedScopes } from "../../policy/access.ts";
import { ENFORCED, type Rule, type RuleHead } from "../../policy/rule.ts";
import type { Confirmation, TokenRoot, TokenState } from "../../stored-grants.ts";
import {
  type AccessTokenClaims,
  type Actor,
  appendActor,
  audienceList,
  hasExpired,
  stateHolds,
  tokenReference,
} from "../../tokens/access-token.ts";
import { AGENT_NOT_PAUSED } from "../grant.ts";
import { requestsAssertion } from "./request-rules.ts";

const SOURCE = "docs/protocol.md#token-exchange";

const invalid = refusing("invalid_request");

/** An access token with a verified signature, and its state. */
export type PresentedToken = { readonly claims: AccessTokenClaims; readonly state: TokenState };

export interface ExchangeFacts {
  readonly client: Client;
  readonly params: TokenExchangeGrant;
  /** Undefined for a text that is not an access token of this issuer. */
  readonly subject: PresentedToken | undefined;
  readonly actor: PresentedToken | undefined;
  /** Existing clients that the request or the subject token's audience names, and disabled resources. */
  readonly clients: ReadonlyMap<string, Pick<Client, "enabled">>;
  /** Of the records of the resources that either names. */
  readonly terms: readonly ResourceTerms[];
  readonly issuer: string;
  /** The key that the agent proved. */
  readonly confirmation?: Confirmation | undefined;
}

/** The same once the subject token is known to be an access token of this issuer. */
interface SubjectFacts extends ExchangeFacts {
  readonly subject: PresentedToken;
  readonly agentPaused: boolean;
  /** The values of resource and audience together. */
  readonly requested: readonly string[];
}

const SUBJECT_KNOWN: Rule<ExchangeFacts, PresentedToken> = {
  name: "subject_token_issued_here",
  demand: "subject_token is an access token that this issuer signed.",
  source: SOURCE,
  check: ({ subject }) => subject ?? invalid("subject_token_not_issued_here"),
};

/** Checked again by the statement that stores the exchange. */
export const SUBJECT_LIVES: Rule<SubjectFacts> = {
  name: "subject_token_lives",
  demand: "Neither the subject token nor anything that it was derived from has been revoked.",
  source: SOURCE,
  check: ({ subject: { claims, state } }) => stateHolds(claims, state) || invalid("subject_token_ended"),
};

/** In order: the rules before SUBJECT_SIGNED_IN. */
const SUBJECT_RULES: readonly Rule<SubjectFacts>[] = [
  {
    name: "subject_token_unexpired",
    demand: "The subject token has not expired.",
    source: SOURCE,
    check: ({ subject: { claims, state } }) => !hasExpired(claims, state) || invalid("subject_token_expired"),
  },
  /** A client's own token has no user for whom anyone could act. */
  {
    name: "subject_is_user",
    demand: "The subject of the token is a user.",
    source: SOURCE,
    check: ({ subject: { claims } }) => tokenReference(claims).userId !== undefined || invalid("subject_is_no_user"),
  },
  {
    name: "subject_user_enabled",
    demand: "The user exists and is enabled.",
    source: SOURCE,
    check: ({ subject: { state } }) => state.subject?.enabled === true || invalid("subject_user_disabled"),
  },
  SUBJECT_LIVES,
];

const SUBJECT_SIGNED_IN: Rule<SubjectFacts, TokenRoot> = {
  name: "subject_signed_in",
  demand: "The user has not signed out since the grant was given.",
  source: "docs/protocol.md#sessions",
  check: ({ subject: { state } }) => (state.root?.signedOut === false ? state.root : invalid("subject_signed_out")),
};

/** In order: those after it. */
const AGENT_RULES: readonly Rule<SubjectFacts>[] = [
  {
    name: "subject_token_for_agent",
    demand: "The subject token's aud contains the agent's client_id.",
    source: SOURCE,
    check: ({ subject: { claims }, client }) => audienceList(claims).includes(client.clientId) || invalid("subject_token_not_for_agent"),
  },
  AGENT_NOT_PAUSED,
  /** The token of another client would let the agent act in that client's name. */
  {
    name: "actor_token",
    demand: "actor_token, if sent, is a valid access token of the agent itself.",
    source: "RFC 8693 §2.1",
    check: ({ params, actor, client }) => {
      if (params.actorToken === undefined) return;
      const { claims, state } = actor ?? invalid("actor_token_not_issued_here");
      if (hasExpired(claims, state)) invalid("actor_token_expired");
      if (tokenReference(claims).userId !== undefined || claims.sub !== client.clientId) invalid("actor_is_not_the_client");
      if (!stateHolds(claims, state)) invalid("actor_token_ended");
    },
  },
  {
    name: "may_act",
    demand: "may_act of the subject token, if present, names the agent.",
    source: "RFC 8693 §4.4",
    check: ({ subject: { claims }, client }) =>
      claims.may_act === undefined || claims.may_act.sub === client.clientId || invalid("may_act_names_another"),
  },
  /**
   * The subject's key is not proven: the token is evidence here, and `aud` with client authentication says who may use it. The actor token is the
   * agent's own, and so is its key.
   */
  {
    name: "dpop_required",
    demand:
      "A subject or actor token that is bound to a key comes with a proof by the agent's key, which is that of the actor token; the new token is bound to it.",
    source: "docs/protocol.md#token-exchange",
    check: ({ subject, actor, confirmation }) => {
      const ownKey = actor?.claims.cnf;
      if ((subject.claims.cnf ?? ownKey) !== undefined && confirmation === undefined) refuseProof("dpop_missing");
      if (ownKey !== undefined && ownKey.jkt !== confirmation?.jkt) refuseProof("dpop_key_differs");
    },
  },
];

const SCOPE: Rule<SubjectFacts, readonly string[]> = {
  name: "scope",
  demand:
    "The scope lies within the subject token's, under the agent's ceiling (maxAgentMode) and in its allowlist, and no resource keeps it from the agent's kind.",
  source: SOURCE,
  check: ({ params, subject, client, terms, requested }) =>
    exchangedScopes(params.scope, parseScope(subject.claims.scope), client, {
      resources: requested.length > 0 ? requested : audienceList(subject.claims),
      terms,
    }),
};

const TARGET: Rule<SubjectFacts, readonly string[]> = {
  name: "target",
  demand: "resource and audience lie within the subject token's aud; clients that are disabled or deleted are left out.",
  source: SOURCE,
  check: ({ requested, subject, clients }) => exchangedAudience(requested, audienceList(subject.claims), clients),
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
  source: SOURCE,
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
export type Exchange = ReturnType<typeof decideExchange>;

/**
 * Decides what an agent receives for a user's token. Pure; the request has passed REQUEST_RULES.
 * @throws {Refusal} of the first rule that does not hold
 * @see RFC 8693 §2, docs/protocol.md#token-exchange
 */
export function decideExchange(presented: ExchangeFacts, trace = ENFORCED) {
  const subject = trace.check(SUBJECT_KNOWN, presented);
  const { resource, audience: named } = presented.params;
  const facts = { ...presented, subject, agentPaused: subject.state.agentPaused, requested: [...resource, ...named] };
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
  } as const;
}
