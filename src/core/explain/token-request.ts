import type { TokenRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import type { Core } from "../core.ts";
import { groundOf } from "../document-client.ts";
import { hearClient } from "./client.ts";
import { hearGrant } from "./grants.ts";
import { openHearing } from "./hearing.ts";

/**
 * What would be answered to a token request, and by which rules: those of the grants themselves, on what is in the stores at this moment.
 * Nothing is written and nothing used up; no code, refresh token, assertion or attempt.
 * @throws {Refusal} unsupported_grant_type for a request without a grant, temporarily_unavailable
 */
export async function explainTokenRequest({ client: credential, grant }: TokenRequest, core: Core) {
  const begun = openHearing();
  const ground = groundOf(grant, core);
  const client = await hearClient(begun, credential, ground, core);
  const { hearing, granted } = await hearGrant(begun, grant, client, ground, core);
  return { rules: [...hearing.verdicts], ...(granted && { granted }) };
}
