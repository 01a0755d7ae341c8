import type { Client } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type { TokenRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import { assertGrantComplete, GRANTS, type GrantCase, type GrantType } from "../../protocol/grants.ts";
import type { Rule, RuleHead, RuleTrace } from "./rule.ts";

/** Checks that the client is registered for the grant. @throws {Refusal} unauthorized_client @see RFC 6749 §5.2 */
export function assertMayUseGrant(client: Client, grantType: GrantType): void {
  if (!client.grantTypes.includes(grantType)) throw new Refusal("unauthorized_client", "grant_not_held");
}

export const GRANT_HELD: Rule<{ readonly client: Client; readonly grant: { readonly case: GrantCase } }> = {
  name: "grant_held",
  demand: "The client is registered for the grant.",
  source: "RFC 6749 §5.2",
  check: ({ client, grant }) => assertMayUseGrant(client, GRANTS[grant.case].grantType),
};

export const PARAMETERS_PRESENT: Rule<{ readonly grant: TokenRequest["grant"] }> = {
  name: "parameters_present",
  demand: "No required parameter of the grant is missing.",
  source: "RFC 6749 §5.2",
  check: ({ grant }) => assertGrantComplete(grant),
};

export const GRANT_RULES: readonly RuleHead[] = [GRANT_HELD, PARAMETERS_PRESENT];

/** Evaluates the rules that every grant has before its own. @throws {Refusal} unauthorized_client, invalid_request */
export function checkGrantUse(
  request: { readonly client: Client; readonly grant: Extract<TokenRequest["grant"], { readonly case: GrantCase }> },
  trace: RuleTrace,
): void {
  trace.check(GRANT_HELD, request);
  trace.check(PARAMETERS_PRESENT, request);
}
