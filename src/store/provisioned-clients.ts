import type { AuditActor, AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import type { ClientChange } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import { provisionedChange } from "../management/client-rules.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { sameHash } from "../random.ts";
import { CLIENT, storeChange, storeNewClient } from "./clients.ts";
import { realms } from "./realms.ts";
import { type Sql, statement } from "./sql.ts";
import { CLIENTS } from "./tables/clients.ts";

type FileClient = ProvisionFile["clients"][number];

const LOCK = statement("provision_client_lock", `select ${CLIENTS.select(CLIENT)} from clients where client_id = $1 for no key update`);

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);

/** One text for equal values, whatever the order of members. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each,
  );

function changesNothing(before: Client, { settings, secret }: ClientChange): boolean {
  const current = Object.fromEntries(Object.keys(settings).map((member) => [member, before[member as keyof typeof settings]]));
  if (canonical(current) !== canonical(settings)) return false;
  if (typeof secret === "string") return secret === "kept" || before.secretHash === null;
  return before.secretHash !== null && sameHash(secret, before.secretHash);
}

/**
 * Creates or changes a client of the file.
 * @param ownerId the account of the file's `ownerEmail`
 * @throws {Refusal} invalid_request, forbidden; see provisionedChange
 */
export async function applyClient(
  file: FileClient,
  ownerId: string | null | undefined,
  actor: AuditActor,
  tx: Pick<Sql, "query">,
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
  if (changesNothing(before, change)) return "unchanged";
  if ((await storeChange(tx, before.id, change, audit)) === undefined)
    throw new Refusal("temporarily_unavailable", "account_just_deleted", { retryAfter: 1 });
  return "changed";
}
