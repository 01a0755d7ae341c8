import type { Client } from "../clients/client.ts";
import { usesSecret } from "../clients/coherence.ts";
import type { ClientChange } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import { hashSecret } from "../secret.ts";
import { mergedChange, newSettings } from "./client-rules.ts";
import type { ProvisionFile } from "./provision.ts";

type FileClient = ProvisionFile["clients"][number];

/**
 * What a provisioning file makes of a client, judged as a whole by the rules that bind every operator. What the file leaves out stays as it
 * is. A file may give a client a grant that it cannot use, as one would to see the token endpoint refuse it; people who ask for that are told.
 * Pure.
 * @param ownerId whose `ownerEmail` it is; null: nobody's; undefined where the file leaves it out
 * @throws {Refusal} invalid_request, forbidden for a built-in client
 */
export function provisionedChange(file: FileClient, ownerId: string | null | undefined, before: Client | undefined): ClientChange {
  const { clientId: _, clientSecret, ownerEmail: __, ...said } = file;
  const settings = before === undefined ? newSettings({ ...said, ownerId }) : mergedChange(before, { ...said, ownerId }).settings;
  if (settings.tokenEndpointAuthMethod === "private_key_jwt" && settings.jwks === null && settings.jwksUri === null) {
    const issues = [{ path: "jwks", message: "private_key_jwt needs jwks or jwksUri" }];
    throw new Refusal("invalid_request", "client_without_keys", { description: "The client could not authenticate.", issues });
  }
  if (!usesSecret(settings.tokenEndpointAuthMethod)) return { settings, secret: "dropped" };
  return { settings, secret: clientSecret === undefined ? "kept" : hashSecret(clientSecret) };
}
