import { usesSecret } from "../clients/coherence.ts";
import type { NewClient } from "../clients/ports.ts";
import { newClientId, newId } from "../identifier.ts";
import { hashSecret, newSecret } from "../secret.ts";
import { assertUsable, type GivenSettings, newSettings } from "./client-rules.ts";
import type { ManagementPorts } from "./ports.ts";

export interface MintedClient {
  readonly client: NewClient;
  /** Plain text, for the one response that shows it; undefined where the authentication method has no secret. */
  readonly clientSecret: string | undefined;
}

/**
 * A new client, with a generated client_id and secret.
 * @throws {Refusal} invalid_request
 */
export async function mintClient(
  given: GivenSettings & { readonly clientId?: string | undefined },
  origin: NewClient["origin"],
  { realms, clock, randomBytes }: ManagementPorts,
): Promise<MintedClient> {
  const settings = newSettings(given);
  assertUsable(settings);
  const clientSecret = usesSecret(settings.tokenEndpointAuthMethod) ? newSecret(randomBytes) : undefined;
  const client: NewClient = {
    ...settings,
    origin,
    id: newId(clock, randomBytes),
    clientId: given.clientId ?? newClientId(randomBytes),
    realmId: (await realms.default()).id,
    secretHash: clientSecret === undefined ? null : hashSecret(clientSecret),
  };
  return { client, clientSecret };
}
