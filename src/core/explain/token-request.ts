import type { Client } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type { TokenRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import type { GrantCase } from "../../protocol/grants.ts";
import { type Assertion, checkAssertion } from "../client-assertion.ts";
import { CLIENT_RULES, evaluateClient, registeredMethod } from "../client-authentication.ts";
import { grantOf, rulesOfGrant } from "../grants/registry.ts";
import type { RuleHead } from "../policy/rule.ts";
import type { Core } from "../ports.ts";
import { prefetch } from "../token-request.ts";
import { traceRules } from "./verdicts.ts";

/** Every rule of a token request, those of client authentication first. */
export const rulesOf = (name: GrantCase): readonly RuleHead[] => [...Object.values(CLIENT_RULES), ...rulesOfGrant(name)];

/** Verifies an assertion without using it up. @throws {Refusal} invalid_client */
async function assertUnused(assertion: Assertion, client: Client, core: Core): Promise<void> {
  const { jti } = await checkAssertion(assertion, client, core);
  if (await core.consumedIds.isConsumed("client_assertion", client.clientId, jti))
    throw new Refusal("invalid_client", "assertion_used_before");
}

/**
 * What the token endpoint would answer to a request, rule by rule, by the stored data of this moment. Writes nothing and uses nothing up: no
 * code, refresh token, assertion or attempt. An operator knows no client secrets, so the proof of a confidential client that presents
 * nothing is assumed.
 * @throws {Refusal} unsupported_grant_type for a request without a grant, temporarily_unavailable
 */
export async function explainTokenRequest({ client: credential, requestId, grant }: TokenRequest, core: Core) {
  if (grant.case === undefined || grant.case === "refusedTokenExchange") throw new Refusal("unsupported_grant_type", "grant_missing");
  const { found, verdicts } = await traceRules(rulesOf(grant.case), async (trace) => {
    const presented = trace.check(CLIENT_RULES.credential, credential);
    const prefetched = prefetch(grant, presented.clientId, core);
    const attempt = { presented, address: credential?.address ?? "", client: prefetched.client, methodRule: registeredMethod };
    const proveBy = (assertion: Assertion, named: Client) => assertUnused(assertion, named, core);
    const client = await evaluateClient(attempt, { trace, proveBy, assumesProof: true });
    return grantOf(grant).preview({ client, grant, requestId, prefetched, refusalDetails: {} }, core, trace);
  });
  return { rules: verdicts, ...(found && { granted: found }) };
}
