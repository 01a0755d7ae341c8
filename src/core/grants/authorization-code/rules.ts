import type { Client } from "../../../clients/client.ts";
import { refusing } from "../../../errors.ts";
import type { AuthorizationCodeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { isCodeVerifier, verifierMatches } from "../../../protocol/authorization-request.ts";
import { disabledAmong, type ResourceTerms } from "../../../resources/resource.ts";
import { DPOP_KEY, type DpopKeyFacts } from "../../dpop.ts";
import { narrowResource, remainingScopes, targetOf } from "../../policy/access.ts";
import { ENFORCED, type Rule, type RuleHead } from "../../policy/rule.ts";
import type { CodeState, Confirmation } from "../../stored-grants.ts";
import { AGENT_NOT_PAUSED, USER_ENABLED } from "../grant.ts";

type PresentedCode = { readonly params: AuthorizationCodeGrant; readonly found: CodeState | undefined };
export type Bound = { readonly bound: readonly string[]; readonly audience: readonly string[]; readonly terms: readonly ResourceTerms[] };
type KnownCode = CodeRequest & DpopKeyFacts & Pick<CodeState, "subject" | "agentPaused"> & { readonly code: CodeState };

const refuse = refusing("invalid_grant");

const CODE_VERIFIER_FORM: Rule<PresentedCode> = {
  name: "code_verifier_form",
  demand: "code_verifier has 43 to 128 unreserved characters.",
  source: "RFC 7636 §4.1",
  check: ({ params }) =>
    isCodeVerifier(params.codeVerifier) ||
    refusing("invalid_request")("code_verifier_malformed", "code_verifier must be 43 to 128 characters of A-Z a-z 0-9 - . _ ~"),
};
const CODE_KNOWN: Rule<PresentedCode, CodeState> = {
  name: "code_known",
  demand: "The code was issued here, and is still stored.",
  source: "OAuth 2.1 §4.1.3",
  check: ({ found }) => found ?? refuse("code_unknown"),
};
const PRESENTER_RULES: readonly Rule<KnownCode>[] = [
  {
    name: "code_of_client",
    demand: "The code was issued to this client.",
    source: "OAuth 2.1 §4.1.3",
    check: ({ client, code }) => code.clientId === client.clientId || refuse("code_of_another_client"),
  },
  {
    name: "redirect_uri",
    demand: "redirect_uri is the one of the authorization request, character by character.",
    source: "RFC 6749 §4.1.3",
    check: ({ params, code }) => code.redirectUri === params.redirectUri || refuse("redirect_uri_differs"),
  },
  {
    name: "code_verifier",
    demand: "The SHA-256 of code_verifier is the code_challenge of the authorization request.",
    source: "RFC 7636 §4.6",
    check: ({ params, code }) =>
      verifierMatches(params.codeVerifier, code.codeChallenge) ||
      refuse("code_verifier_wrong", "code_verifier does not match code_challenge."),
  },
  DPOP_KEY,
];
/** A second use obliges the caller to revoke the grant, so the decision reports it instead of throwing. */
const CODE_UNUSED: Rule<KnownCode> = {
  name: "code_unused",
  demand: "The code has not been used before; a second use revokes its grant.",
  source: "OAuth 2.1 §7.5.2",
  check: ({ code }) => code.grantId === null || refuse("code_replayed"),
};
export const CODE_UNEXPIRED: Rule<Pick<KnownCode, "code">> = {
  name: "code_unexpired",
  demand: "The code has not expired.",
  source: "docs/protocol.md#authorization-code",
  check: ({ code }) => code.expiresAt > code.now || refuse("code_expired"),
};
const LIFE_RULES: readonly Rule<KnownCode>[] = [CODE_UNEXPIRED, USER_ENABLED, AGENT_NOT_PAUSED];
export const SCOPE: Rule<Pick<KnownCode, "client" | "code">, CodeState> = {
  name: "scope",
  demand: "Of what was granted, the client may still have something, whose class of sign-in the code states; the rest is left out.",
  source: "docs/protocol.md#scopes, docs/protocol.md#step-up",
  check: ({ client, code }) => ({
    ...code,
    scopes: remainingScopes(code.scopes, client, targetOf(client, code.resources, code.resourceTerms), code.authentication),
  }),
};
const RESOURCE: Rule<Pick<KnownCode, "client" | "params" | "code">, Bound> = {
  name: "resource",
  demand:
    "resource lies within the resources of the authorization request; where it had none, it can only be the client_id. Disabled resources are left out.",
  source: "RFC 8707 §2.2",
  check: ({ client, params, code }) => boundTo(params.resource, client, code),
};

/** The resources of a code's grant and token. @throws {Refusal} invalid_target */
export function boundTo(requested: readonly string[], client: Client, { resources, resourceTerms }: CodeState): Bound {
  // Without `resource` the token is for the client itself, which can exchange it later (RFC 9068 §3).
  const bound = resources.length > 0 ? resources : [client.clientId];
  const { terms } = targetOf(client, bound, resourceTerms);
  return { bound, audience: narrowResource(requested, bound, disabledAmong(bound, terms)), terms };
}

export const CODE_RULES: readonly RuleHead[] = [
  CODE_VERIFIER_FORM,
  CODE_KNOWN,
  ...PRESENTER_RULES,
  CODE_UNUSED,
  ...LIFE_RULES,
  SCOPE,
  RESOURCE,
];

interface CodeRequest {
  readonly client: Client;
  readonly params: AuthorizationCodeGrant;
  /** The key that the request proved. */
  readonly confirmation?: Confirmation | undefined;
}

/** The key of a code (`dpop_jkt` of its authorization request) or of a device's request (that of its proof). */
export const keyOf = (of: Pick<CodeState, "dpopJkt"> | undefined): Confirmation | undefined =>
  of?.dpopJkt ? { jkt: of.dpopJkt } : undefined;

/**
 * Decides what a presented code entitles its client to. Pure.
 * A used code with the right parameters is a replay, which revokes its grant. With wrong parameters it revokes nothing: otherwise anyone
 * who has seen a code could sign its owner out.
 * @throws {Refusal} invalid_request, invalid_grant, invalid_scope, invalid_target
 * @see OAuth 2.1 §4.1.3 and §7.5.2, RFC 7636 §4.6, docs/protocol.md#authorization-code
 */
export function decideCode(found: CodeState | undefined, { client, params, confirmation }: CodeRequest, trace = ENFORCED) {
  const presented = { found, client, params };
  trace.check(CODE_VERIFIER_FORM, presented);
  const code = trace.check(CODE_KNOWN, presented);
  const { subject, agentPaused } = code;
  const facts = { code, client, params, boundTo: keyOf(code), confirmation, subject, agentPaused };
  for (const rule of PRESENTER_RULES) trace.check(rule, facts);
  const replayed = trace.refusalOf(CODE_UNUSED, facts);
  if (replayed !== undefined) return { kind: "replay", grantId: code.grantId ?? "", refusal: replayed } as const;
  for (const rule of LIFE_RULES) trace.check(rule, facts);
  return { kind: "redeem", code: trace.check(SCOPE, facts), ...trace.check(RESOURCE, facts) } as const;
}
