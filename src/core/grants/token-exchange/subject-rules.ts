import type { Client } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { TokenExchangeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { hasExpired, stateHolds } from "../../introspection.ts";
import type { Rule } from "../../policy/rule.ts";
import type { TokenRoot, TokenState } from "../../token-state.ts";
import { type AccessTokenClaims, audienceList, tokenReference } from "../../tokens/access-token.ts";
import { invalid } from "./request-rules.ts";

/** An access token with a verified signature, and its state. */
export type PresentedToken = { readonly claims: AccessTokenClaims; readonly state: TokenState };

export interface ExchangeFacts {
  readonly client: Client;
  readonly params: TokenExchangeGrant;
  /** Undefined for a text that is not an access token of this issuer. */
  readonly subject: PresentedToken | undefined;
  readonly actor: PresentedToken | undefined;
  /** Existing clients that the request or the subject token's audience names, each with whether it is enabled. */
  readonly clients: ReadonlyMap<string, boolean>;
  readonly issuer: string;
}

/** The same once the subject token is known to be an access token of this issuer. */
export type SubjectFacts = ExchangeFacts & { readonly subject: PresentedToken };

const SOURCE = "docs/protocol.md#token-exchange";

export const SUBJECT_KNOWN: Rule<ExchangeFacts, PresentedToken> = {
  name: "subject_token_issued_here",
  demand: "subject_token is an access token that this issuer signed.",
  source: SOURCE,
  check: ({ subject }) => subject ?? invalid("subject_token_not_issued_here"),
};

const SUBJECT_UNEXPIRED: Rule<SubjectFacts> = {
  name: "subject_token_unexpired",
  demand: "The subject token has not expired.",
  source: SOURCE,
  check: ({ subject: { claims, state } }) => {
    if (hasExpired(claims, state)) invalid("subject_token_expired");
  },
};

/** A client's own token has no user for whom anyone could act. */
const SUBJECT_IS_USER: Rule<SubjectFacts> = {
  name: "subject_is_user",
  demand: "The subject of the token is a user.",
  source: SOURCE,
  check: ({ subject: { claims } }) => {
    if (tokenReference(claims).userId === undefined) invalid("subject_is_no_user");
  },
};

const SUBJECT_ENABLED: Rule<SubjectFacts> = {
  name: "subject_user_enabled",
  demand: "The user exists and is enabled.",
  source: SOURCE,
  check: ({ subject: { state } }) => {
    if (state.subject?.enabled !== true) invalid("subject_user_disabled");
  },
};

/** Checked again by the statement that stores the exchange. */
export const SUBJECT_LIVES: Rule<SubjectFacts> = {
  name: "subject_token_lives",
  demand: "Neither the subject token nor anything that it was derived from has been revoked.",
  source: SOURCE,
  check: ({ subject: { claims, state } }) => {
    if (!stateHolds(claims, state)) invalid("subject_token_ended");
  },
};

export const SUBJECT_SIGNED_IN: Rule<SubjectFacts, TokenRoot> = {
  name: "subject_signed_in",
  demand: "The user has not signed out since the grant was given.",
  source: "docs/protocol.md#sessions",
  check: ({ subject: { state } }) => (state.root?.signedOut === false ? state.root : invalid("subject_signed_out")),
};

const FOR_AGENT: Rule<SubjectFacts> = {
  name: "subject_token_for_agent",
  demand: "The subject token's aud contains the agent's client_id.",
  source: SOURCE,
  check: ({ subject: { claims }, client }) => {
    if (!audienceList(claims).includes(client.clientId)) invalid("subject_token_not_for_agent");
  },
};

const AGENT_NOT_PAUSED: Rule<SubjectFacts> = {
  name: "agent_not_paused",
  demand: "Neither an operator nor the user has paused the agent.",
  source: "docs/protocol.md#delegations",
  check: ({ subject: { state } }) => {
    if (state.agentPaused) throw new Refusal("unauthorized_client", "agent_paused");
  },
};

/** The token of another client would let the agent act in that client's name. */
const ACTOR_TOKEN: Rule<SubjectFacts> = {
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
};

const MAY_ACT: Rule<SubjectFacts> = {
  name: "may_act",
  demand: "may_act of the subject token, if present, names the agent.",
  source: "RFC 8693 §4.4",
  check: ({ subject: { claims }, client }) => {
    if (claims.may_act !== undefined && claims.may_act.sub !== client.clientId) invalid("may_act_names_another");
  },
};

/** In order: the rules before SUBJECT_SIGNED_IN, and those after it. */
export const SUBJECT_RULES = [SUBJECT_UNEXPIRED, SUBJECT_IS_USER, SUBJECT_ENABLED, SUBJECT_LIVES] as const;
export const AGENT_RULES = [FOR_AGENT, AGENT_NOT_PAUSED, ACTOR_TOKEN, MAY_ACT] as const;
