import type { Client } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { RefreshTokenGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { type SecretHash, sameHash } from "../../../secret.ts";
import { narrowResource } from "../../policy/resource.ts";
import { assertRules, type Rule } from "../../policy/rule.ts";
import { allowedScopes, narrowScope } from "../../policy/scope.ts";
import type { FamilyState } from "../../ports.ts";

/**
 * REFRESH_TOKEN_REUSE_GRACE in seconds (0 makes every second use a replay), and the successor that the presented token had if it was used
 * for the same scope and resource then.
 */
export interface Grace {
  readonly seconds: number;
  readonly successor: SecretHash;
}

export interface RefreshFacts {
  readonly client: Client;
  readonly grant: RefreshTokenGrant;
  /** The family that issued the token; undefined for a value that was never issued. */
  readonly family: FamilyState | undefined;
  readonly grace: Grace;
}

const refuse = (reason: string): never => {
  throw new Refusal("invalid_grant", reason);
};

const familyOf = ({ family }: RefreshFacts): FamilyState => family ?? refuse("refresh_token_unknown");

/** Whether the token was used before, and not just now for the very same. */
function isReplay(facts: RefreshFacts): boolean {
  const { usedAt, now, currentHash } = familyOf(facts);
  const { seconds, successor } = facts.grace;
  return usedAt !== null && !(now < usedAt + seconds && sameHash(successor, currentHash));
}

/** Whether there is something that the token could still speak for, in order. */
const FAMILY_RULES: readonly Rule<RefreshFacts>[] = [
  { name: "refresh_token_known", demand: "The refresh token is one that was issued.", source: "RFC 6749 §6", assert: familyOf },
  {
    name: "refresh_token_of_client",
    demand: "The refresh token was issued to this client.",
    source: "RFC 6749 §6",
    assert: (facts) => {
      if (familyOf(facts).clientId !== facts.client.clientId) refuse("refresh_token_of_another_client");
    },
  },
  {
    name: "refresh_token_lives",
    demand: "Neither the token's family nor its grant has been revoked: by revocation, replay, sign-out or a consent taken back.",
    source: "specification §3",
    assert: (facts) => {
      if (familyOf(facts).revoked) refuse("refresh_token_revoked");
    },
  },
  {
    name: "refresh_token_unexpired",
    demand: "The token's family has not expired.",
    source: "RFC 6749 §6",
    assert: (facts) => {
      if (familyOf(facts).expiresAt <= familyOf(facts).now) refuse("refresh_token_expired");
    },
  },
  {
    name: "user_enabled",
    demand: "The person is enabled.",
    source: "specification §3",
    assert: (facts) => {
      if (!familyOf(facts).subject.enabled) refuse("user_disabled");
    },
  },
];

/** A second use ends the family, so that a decision tells of it instead of refusing. */
const TOKEN_UNUSED: Rule<RefreshFacts> = {
  name: "refresh_token_unused",
  demand: "The token is the current one of its family; a second use of one that was used up ends the family.",
  source: "RFC 9700 §4.14.2, specification §3",
  assert: (facts) => {
    if (isReplay(facts)) refuse("refresh_token_replayed");
  },
};

/** What was granted, as far as the client may still have it. */
function scopesOf(facts: RefreshFacts): readonly string[] {
  const allowed = allowedScopes(facts.client);
  const left = familyOf(facts).scopes.filter((scope) => allowed.includes(scope));
  if (left.length === 0)
    throw new Refusal("invalid_scope", "no_scope_left", { description: "The client may have none of what was granted." });
  return narrowScope(facts.grant.scope, left);
}
function audienceFor(facts: RefreshFacts): readonly string[] {
  const { audience, absentClients } = familyOf(facts);
  return narrowResource(facts.grant.resource, audience, absentClients);
}

const REQUEST_RULES: readonly Rule<RefreshFacts>[] = [
  {
    name: "scope",
    demand: "scope lies within what was granted, and within what the client may still have.",
    source: "RFC 6749 §6, specification §5",
    assert: scopesOf,
  },
  {
    name: "resource",
    demand: "resource lies within what was granted; clients that are disabled or deleted are left out.",
    source: "RFC 8707 §2.2",
    assert: audienceFor,
  },
];

/** In order. */
export const REFRESH_RULES: readonly Rule<RefreshFacts>[] = [...FAMILY_RULES, TOKEN_UNUSED, ...REQUEST_RULES];

/**
 * What a presented refresh token entitles its client to. Pure.
 * Narrower scopes and resources hold for the new access token alone; the family keeps what was granted (RFC 6749 §6).
 * @throws {Refusal} invalid_grant, invalid_scope, invalid_target; the presented token stays usable
 * @see RFC 6749 §6, RFC 9700 §4.14.2, specification §3 and §4.7
 */
export function decideRefresh(family: FamilyState | undefined, client: Client, grant: RefreshTokenGrant, grace: Grace) {
  const facts = { family, client, grant, grace };
  assertRules(FAMILY_RULES, facts);
  const held = familyOf(facts);
  if (isReplay(facts)) return { kind: "replay", family: held } as const;
  assertRules(REQUEST_RULES, facts);
  const kind = held.usedAt === null ? "rotate" : "repeat";
  return { kind, family: held, scopes: scopesOf(facts), audience: audienceFor(facts) } as const;
}

/** The refusal of a replay, thrown once its end is written. */
export const refreshTokenReplayed = (): Refusal => new Refusal("invalid_grant", "refresh_token_replayed", { rule: TOKEN_UNUSED.name });
