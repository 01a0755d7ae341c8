import type { Client, GrantType } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";

/**
 * A client uses the grants it holds, and no others.
 * @throws {Refusal} unauthorized_client
 * @see RFC 6749 §5.2
 */
export function assertMayUseGrant(client: Client, grantType: GrantType): void {
  if (!client.grantTypes.includes(grantType)) throw new Refusal("unauthorized_client", "grant_not_held");
}
