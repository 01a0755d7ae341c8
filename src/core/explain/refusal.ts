import { Refusal } from "../../errors.ts";
import { Verdict } from "../../gen/countersign/token/v1/token_pb.ts";
import { GRANT_TYPES, type GrantType, JWT_BEARER, TOKEN_EXCHANGE } from "../../protocol/grants.ts";
import { CLIENT_RULES } from "../client-authentication.ts";
import type { Core } from "../core.ts";
import { CODE_RULES } from "../grants/authorization-code/rules.ts";
import { CLIENT_CREDENTIALS_RULES } from "../grants/client-credentials/grant.ts";
import {
  ASSERTION_GRANT_RULES,
  ASSERTION_READ,
  ASSERTION_RULES,
  ASSERTION_SIGNED,
  ASSERTION_UNUSED,
  GRANT_SERVED,
  USER_ENABLED,
} from "../grants/jwt-bearer/rules.ts";
import { REFRESH_RULES } from "../grants/refresh-token/rules.ts";
import { REQUEST_RULES } from "../grants/token-exchange/request-rules.ts";
import { TOKEN_RULES } from "../grants/token-exchange/rules.ts";
import { GRANT_RULES } from "../policy/grant-type.ts";
import type { RuleHead } from "../policy/rule.ts";
import type { RefusedRequest } from "../ports.ts";
import { type RecordedVerdict, verdictOn } from "./rule-trace.ts";

/** Every rule of a grant, in the order in which a request meets them. */
const RULES_OF: Readonly<Record<GrantType, readonly RuleHead[]>> = {
  authorization_code: [...GRANT_RULES, ...CODE_RULES],
  refresh_token: [...GRANT_RULES, ...REFRESH_RULES],
  client_credentials: [...GRANT_RULES, ...CLIENT_CREDENTIALS_RULES],
  [TOKEN_EXCHANGE]: [...REQUEST_RULES, ...TOKEN_RULES],
  [JWT_BEARER]: [
    GRANT_SERVED,
    ...ASSERTION_GRANT_RULES,
    ASSERTION_READ,
    ASSERTION_SIGNED,
    ...ASSERTION_RULES,
    USER_ENABLED,
    ASSERTION_UNUSED,
  ],
};

/** The rules of a grant, the client's own first. */
export const rulesOf = (grantType: GrantType): readonly RuleHead[] => [...Object.values(CLIENT_RULES), ...RULES_OF[grantType]];

/** Nothing when the record does not say which rule it was, or this release has no such rule. */
function verdictsOf({ grantType, rule, error, reason }: RefusedRequest): readonly RecordedVerdict[] {
  const known = GRANT_TYPES.find((each) => each === grantType);
  const rules = known === undefined ? [] : rulesOf(known);
  const at = rules.findIndex(({ name }) => name === rule);
  if (at === -1) return [];
  return rules.map((each, index) => {
    if (index === at) return verdictOn(each, Verdict.REFUSED, { error, reason });
    return verdictOn(each, index < at ? Verdict.PASSED : Verdict.NOT_REACHED);
  });
}

/**
 * Why a token request was refused, as its record in the trail says.
 * @param requestId X-Request-Id of the answer
 * @throws {Refusal} not_found when no refusal is on record under it
 */
export async function explainRefusal(requestId: string, core: Core) {
  const refused = await core.audit.refusalOf(requestId);
  if (refused === undefined) {
    const description = "No refusal of a token request is on record under this id.";
    throw new Refusal("not_found", "no_refusal_of_request", { description });
  }
  const { clientId, grantType, reason, error, at } = refused;
  return { rules: [...verdictsOf(refused)], refused: { clientId, grantType, reason, at, ...(error !== undefined && { error }) } };
}
