import { Refusal } from "../../errors.ts";
import { Verdict } from "../../gen/countersign/token/v1/token_pb.ts";
import { grantCaseOf } from "../../protocol/grants.ts";
import type { Core, RefusedRequest } from "../ports.ts";
import { rulesOf } from "./token-request.ts";
import { type RecordedVerdict, verdictOn } from "./verdicts.ts";

/** Empty when the record does not name a rule, or this release has no such rule. */
function verdictsOf({ grantType, rule, error, reason }: RefusedRequest): readonly RecordedVerdict[] {
  const grant = grantCaseOf(grantType);
  const rules = grant === undefined ? [] : rulesOf(grant);
  const at = rules.findIndex(({ name }) => name === rule);
  if (at === -1) return [];
  return rules.map((each, index) => {
    if (index === at) return verdictOn(each, Verdict.REFUSED, { error, reason });
    return verdictOn(each, index < at ? Verdict.PASSED : Verdict.NOT_REACHED);
  });
}

/**
 * Why a token request was refused, by its audit record.
 * @param requestId X-Request-Id of the answer
 * @throws {Refusal} not_found when there is no record of a refusal under it
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
