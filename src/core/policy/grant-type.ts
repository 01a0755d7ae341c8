import type { Client } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type { TokenRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import type { GrantType } from "../../protocol/grants.ts";
import { assertGrantComplete } from "../../protocol/grants.ts";
import type { Rule } from "./rule.ts";

/**
 * A client uses the grants it holds, and no others.
 * @throws {Refusal} unauthorized_client
 * @see RFC 6749 §5.2
 */
export function assertMayUseGrant(client: Client, grantType: GrantType): void {
  if (!client.grantTypes.includes(grantType)) throw new Refusal("unauthorized_client", "grant_not_held");
}

/** Who asks, for which grant, with what. */
export interface GrantRequest {
  readonly client: Client;
  readonly grantType: GrantType;
  readonly grant: TokenRequest["grant"];
}

export const GRANT_HELD: Rule<Pick<GrantRequest, "client" | "grantType">> = {
  name: "grant_held",
  demand: "The client holds the grant.",
  source: "RFC 6749 §5.2",
  assert: ({ client, grantType }) => assertMayUseGrant(client, grantType),
};

export const PARAMETERS_PRESENT: Rule<Pick<GrantRequest, "grant">> = {
  name: "parameters_present",
  demand: "No parameter is missing without which the grant cannot be judged.",
  source: "specification §4.7",
  assert: ({ grant }) => assertGrantComplete(grant),
};

/** What holds for every grant, once the client is known. */
export const GRANT_RULES: readonly Rule<GrantRequest>[] = [GRANT_HELD, PARAMETERS_PRESENT];
