import type { Client } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { AuthorizationCodeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { isCodeVerifier, verifierMatches } from "../../../protocol/pkce.ts";
import { narrowResource } from "../../policy/resource.ts";
import { assertRules, type Rule } from "../../policy/rule.ts";
import type { CodeState } from "../../ports.ts";

export interface CodeFacts {
  readonly client: Client;
  readonly grant: AuthorizationCodeGrant;
  /** Undefined for a value that is no code, or not any more. */
  readonly code: CodeState | undefined;
}

const refuse = (reason: string): never => {
  throw new Refusal("invalid_grant", reason);
};

/** The code of facts in which there is one. */
const codeOf = ({ code }: CodeFacts): CodeState => code ?? refuse("code_unknown");

function assertVerifierForm({ grant }: CodeFacts): void {
  if (isCodeVerifier(grant.codeVerifier)) return;
  const description = "code_verifier must be 43 to 128 characters of A-Z a-z 0-9 - . _ ~";
  throw new Refusal("invalid_request", "code_verifier_malformed", { description });
}

/** Without `resource` the token is for the client itself, which lets the client exchange it later on (RFC 9068 §3). */
const boundOf = (facts: CodeFacts): readonly string[] => {
  const { resources } = codeOf(facts);
  return resources.length > 0 ? resources : [facts.client.clientId];
};
const audienceFor = (facts: CodeFacts): readonly string[] => narrowResource(facts.grant.resource, boundOf(facts));

/** Whether the code is presented rightly, in order. Only then it matters whether it was used before. */
const PRESENTATION_RULES: readonly Rule<CodeFacts>[] = [
  {
    name: "code_verifier_form",
    demand: "code_verifier has 43 to 128 characters of those that it may have.",
    source: "RFC 7636 §4.1",
    assert: assertVerifierForm,
  },
  { name: "code_known", demand: "The code is one that was issued, and is remembered.", source: "OAuth 2.1 §4.1.3", assert: codeOf },
  {
    name: "code_of_client",
    demand: "The code was issued to this client.",
    source: "OAuth 2.1 §4.1.3",
    assert: (facts) => {
      if (codeOf(facts).clientId !== facts.client.clientId) refuse("code_of_another_client");
    },
  },
  {
    name: "redirect_uri",
    demand: "redirect_uri is the one of the authorization request, character by character.",
    source: "specification §3",
    assert: (facts) => {
      if (codeOf(facts).redirectUri !== facts.grant.redirectUri) refuse("redirect_uri_differs");
    },
  },
  {
    name: "code_verifier",
    demand: "The SHA-256 of code_verifier is the code_challenge of the authorization request.",
    source: "RFC 7636 §4.6",
    assert: (facts) => {
      if (!verifierMatches(facts.grant.codeVerifier, codeOf(facts).codeChallenge)) refuse("code_verifier_wrong");
    },
  },
];

/** A second use ends what came of the first, so that a decision tells of it instead of refusing. */
const CODE_UNUSED: Rule<CodeFacts> = {
  name: "code_unused",
  demand: "The code has not been used before; a second use ends its grant.",
  source: "OAuth 2.1 §7.5.2, specification §3",
  assert: (facts) => {
    if (codeOf(facts).grantId !== null) refuse("code_replayed");
  },
};

export const CODE_UNEXPIRED: Rule<CodeFacts> = {
  name: "code_unexpired",
  demand: "The code has not expired.",
  source: "specification §3",
  assert: (facts) => {
    if (codeOf(facts).expiresAt <= codeOf(facts).now) refuse("code_expired");
  },
};

const REDEMPTION_RULES: readonly Rule<CodeFacts>[] = [
  CODE_UNEXPIRED,
  {
    name: "user_enabled",
    demand: "The person is enabled.",
    source: "specification §3",
    assert: (facts) => {
      if (!codeOf(facts).subject.enabled) refuse("user_disabled");
    },
  },
  {
    name: "resource",
    demand: "resource lies within what was bound at authorize; where nothing was, it can be the client_id alone.",
    source: "RFC 8707 §2.2, specification §4.7",
    assert: audienceFor,
  },
];

/** In order. */
export const CODE_RULES: readonly Rule<CodeFacts>[] = [...PRESENTATION_RULES, CODE_UNUSED, ...REDEMPTION_RULES];

/**
 * What a presented code entitles its client to. Pure.
 * A used code that is presented rightly in everything else is a replay, which ends its grant; with wrong parameters it ends nothing,
 * or whoever saw a code go by could sign its owner out.
 * @throws {Refusal} invalid_request, invalid_grant, invalid_target
 * @see OAuth 2.1 §4.1.3 and §7.5.2, RFC 7636 §4.6, specification §3 and §4.7
 */
export function decideCode(code: CodeState | undefined, client: Client, grant: AuthorizationCodeGrant) {
  const facts = { code, client, grant };
  assertRules(PRESENTATION_RULES, facts);
  const presented = codeOf(facts);
  if (presented.grantId !== null) return { kind: "replay", grantId: presented.grantId } as const;
  assertRules(REDEMPTION_RULES, facts);
  return { kind: "redeem", code: presented, bound: boundOf(facts), audience: audienceFor(facts) } as const;
}

/** The refusal of a replay, thrown once its end is written. */
export const codeReplayed = (): Refusal => new Refusal("invalid_grant", "code_replayed", { rule: CODE_UNUSED.name });
