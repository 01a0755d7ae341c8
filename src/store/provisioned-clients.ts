import type { AuditActor, AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import { Refusal } from "../errors.ts";
import { provisionedChange } from "../management/client-rules.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { CLIENT, storeChange, storeNewClient } from "./clients.ts";
import { realms } from "./realms.ts";
import { statement, type Tx } from "./sql.ts";
import { CLIENTS } from "./tables/clients.ts";

type FileClient = ProvisionFile["clients"][number];

const LOCK = statement("provision_client_lock", `select ${CLIENTS.select(CLIENT)} from clients where client_id = $1 for no key update`);

/**
 * Creates or changes a client of the file.
 * @param ownerId the account of the file's `ownerEmail`
 * @throws {Refusal} invalid_request, forbidden; see provisionedChange
 */
export async function applyClient(
  file: FileClient,
  ownerId: string | null | undefined,
  actor: AuditActor,
  tx: Tx,
): Promise<"created" | "changed" | "unchanged"> {
  const { clientId } = file;
  const [before] = await tx.query<Client>(LOCK, [clientId]);
  const change = provisionedChange(file, ownerId, before);
  const audit: AuditEntry = { event: before === undefined ? "client.registered" : "client.changed", outcome: "success", actor, clientId };
  if (before === undefined) {
    const secretHash = typeof change.secret === "string" ? null : change.secret;
    const realmId = (await realms(tx).default()).id;
    await storeNewClient(tx, { ...change.settings, id: null, clientId, realmId, origin: "operator", secretHash }, audit);
    return "created";
  }
  const stored = await storeChange(tx, before, change, audit);
  if (stored === undefined) throw new Refusal("temporarily_unavailable", "account_just_deleted", { retryAfter: 1 });
  return stored === before ? "unchanged" : "changed";
}
