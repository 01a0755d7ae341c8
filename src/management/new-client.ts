import { impliedResponseTypes, usesSecret } from "../clients/coherence.ts";
import type { NewClient } from "../clients/ports.ts";
import { newClientId, newId } from "../identifier.ts";
import { hashSecret, newSecret } from "../secret.ts";
import { assertCoherent } from "./client-rules.ts";
import type { CreateClientInput, OperatorCreateClientInput } from "./inputs.ts";
import type { ManagementPorts } from "./ports.ts";

export interface MintedClient {
  readonly client: NewClient;
  /** In clear, for the one answer that shows it; undefined where the method knows no secret. */
  readonly clientSecret: string | undefined;
}

/** What is asked for: the members of a developer's request, and those that an operator may add. */
type Wanted = Omit<CreateClientInput, "grantTypes" | "requirePkce"> &
  Pick<OperatorCreateClientInput, "grantTypes"> &
  Partial<Pick<OperatorCreateClientInput, "clientId" | "enabled" | "isAgent" | "maxAgentMode" | "audience" | "jwks" | "jwksUri">>;

/**
 * A client as it is first stored, with client_id and secret of our making.
 * @throws {Refusal} invalid_request
 */
export async function mintClient(
  input: Wanted,
  by: Pick<NewClient, "origin" | "ownerId" | "environment">,
  { realms, clock, randomBytes }: ManagementPorts,
): Promise<MintedClient> {
  const settings = {
    name: input.name,
    description: input.description,
    redirectUris: input.redirectUris,
    scopes: input.scopes,
    grantTypes: input.grantTypes,
    responseTypes: input.responseTypes ?? impliedResponseTypes(input.grantTypes),
    tokenEndpointAuthMethod: input.tokenEndpointAuthMethod,
    enabled: input.enabled ?? true,
    environment: by.environment,
    isAgent: input.isAgent ?? false,
    maxAgentMode: input.maxAgentMode ?? null,
    audience: input.audience ?? null,
    jwks: input.jwks ?? null,
    jwksUri: input.jwksUri ?? null,
  };
  assertCoherent(settings);
  const clientSecret = usesSecret(settings.tokenEndpointAuthMethod) ? newSecret(randomBytes) : undefined;
  const client: NewClient = {
    ...settings,
    ...by,
    id: newId(clock, randomBytes),
    clientId: input.clientId ?? newClientId(randomBytes),
    realmId: (await realms.default()).id,
    secretHash: clientSecret === undefined ? null : hashSecret(clientSecret),
  };
  return { client, clientSecret };
}
