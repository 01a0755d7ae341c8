import type { Client } from "../clients/client.ts";
import { usesSecret } from "../clients/coherence.ts";
import type { ClientChange } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import { hashSecret } from "../secret.ts";
import { mergedChange, newSettings } from "./client-rules.ts";
import type { ProvisionFile } from "./provision.ts";

type FileClient = ProvisionFile["clients"][number];

/**
 * A client as a provisioning file describes it, validated as a whole by the rules for operators. Members that the file leaves out stay
 * unchanged. Unlike the API, a file may give a client a grant that it cannot use, for instance to test how the token endpoint refuses it. Pure.
 * @param ownerId the account of `ownerEmail`; null: none; undefined where the file leaves it out
 * @throws {Refusal} invalid_request, forbidden for a built-in client
 */
export function provisionedChange(file: FileClient, ownerId: string | null | undefined, before: Client | undefined): ClientChange {
  const { clientId: _, clientSecret, ownerEmail: __, ...members } = file;
  const settings = before === undefined ? newSettings({ ...members, ownerId }) : mergedChange(before, { ...members, ownerId }).settings;
  if (settings.tokenEndpointAuthMethod === "private_key_jwt" && settings.jwks === null && settings.jwksUri === null) {
    const issues = [{ path: "jwks", message: "private_key_jwt needs jwks or jwksUri" }];
    throw new Refusal("invalid_request", "client_without_keys", { description: "The client could not authenticate.", issues });
  }
  if (!usesSecret(settings.tokenEndpointAuthMethod)) return { settings, secret: "dropped" };
  return { settings, secret: clientSecret === undefined ? "kept" : hashSecret(clientSecret) };
}
