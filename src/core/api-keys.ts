import { isApiKey } from "../clients/api-key.ts";
import type { Client } from "../clients/client.ts";
import { printScope } from "../protocol/scope.ts";
import { hashSecret } from "../secret.ts";
import type { CorePorts } from "./ports.ts";

/** All that is told of a key that does not count. */
const INACTIVE = { active: false };

/**
 * What a resource server is told of a static API key: whether it counts at this moment, and for which client.
 * @see docs/protocol.md#api-keys
 */
export async function verifyApiKey(key: string, { apiKeys }: Pick<CorePorts, "apiKeys">) {
  const live = isApiKey(key) ? await apiKeys.byHash(hashSecret(key)) : undefined;
  return live === undefined ? INACTIVE : { active: true, keyId: live.keyId, ...told(live.client) };
}

const told = ({ clientId, scopes }: Client) => ({ clientId, scope: printScope(scopes) });
