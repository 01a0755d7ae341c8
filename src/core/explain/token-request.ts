import type { TokenRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import type { Core } from "../core.ts";
import { prefetch } from "../token-request-context.ts";
import { traceClient } from "./client.ts";
import { traceGrant } from "./grants.ts";
import { openTrace } from "./rule-trace.ts";

/**
 * What would be answered to a token request, and by which rules: those of the grants themselves, on what is in the stores at this moment.
 * Nothing is written and nothing used up; no code, refresh token, assertion or attempt.
 * @throws {Refusal} unsupported_grant_type for a request without a grant, temporarily_unavailable
 */
export async function explainTokenRequest({ client: credential, grant }: TokenRequest, core: Core) {
  const begun = openTrace();
  const ground = prefetch(grant, core);
  const client = await traceClient(begun, credential, ground, core);
  const { hearing, granted } = await traceGrant(begun, grant, client, ground, core);
  return { rules: [...hearing.verdicts], ...(granted && { granted }) };
}
