import { randomBytes } from "node:crypto";
import type { AuditActor, AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import type { WorkloadIdentity, WorkloadIssuer } from "../clients/workload.ts";
import { systemClock } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { changedTrust, newTrust, provisionedChange } from "../management/client-rules.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { newId } from "../random.ts";
import type { SecretBox } from "../secret-box.ts";
import { type Connection, changedConnection, incoherent, type NewConnection, newConnection } from "../upstream/connection.ts";
import { CLIENT, storeChange, storeNewClient } from "./clients.ts";
import { connectionRecords } from "./connections.ts";
import type { Outcome } from "./provisioned-users.ts";
import { realms } from "./realms.ts";
import { statement, type Tx } from "./sql.ts";
import { CLIENTS } from "./tables/clients.ts";
import { assignIdentity, identitiesOf, unassignIdentity, workloadIssuers } from "./workloads.ts";

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

export type Event = Pick<AuditEntry, "outcome" | "actor">;

/** @param reason of the refusal when the record has just been removed  @throws {Refusal} temporarily_unavailable */
export function outcomeOf(change: { readonly before: unknown; readonly after: unknown } | undefined, reason: string): Outcome {
  if (change === undefined) throw new Refusal("temporarily_unavailable", reason, { retryAfter: 1 });
  return change.after === change.before ? "unchanged" : "changed";
}

type Kind = "resource" | "connection" | "workload_issuer";
type Records<Added, Stored, Settings> = {
  add(record: Added, audit: AuditEntry): Promise<unknown>;
  change(named: Added, decide: (current: Stored) => Settings, audit: AuditEntry): Promise<Parameters<typeof outcomeOf>[0]>;
};

/** Adds a record, or changes the one that has its name. @throws {Refusal} temporarily_unavailable for one that was just removed */
export async function putRecord<Added, Stored, Settings>(
  kind: Kind,
  records: Records<Added, Stored, Settings>,
  added: Added,
  decide: (current: Stored) => Settings,
  event: Event,
): Promise<Outcome> {
  const audit = (done: "created" | "changed"): AuditEntry => ({ ...event, event: `${kind}.${done}` });
  if ((await records.add(added, audit("created"))) !== undefined) return "created";
  return outcomeOf(await records.change(added, decide, audit("changed")), `${kind}_just_removed`);
}

type FileConnection = ProvisionFile["connections"][number];

/** Refuses what cannot be changed: else an existing connection got the secret that is for another provider. */
function assertUnchanged(current: Connection, { issuer, realmId }: NewConnection, { authMethod, realm }: FileConnection): void {
  const fault = (member: string) => incoherent(member, `is another one at the connection ${current.name}, and cannot be changed`);
  if (current.issuer !== issuer) throw fault("issuer");
  if (authMethod !== undefined && authMethod !== current.authMethod) throw fault("authMethod");
  if (realm !== undefined && realmId !== current.realmId) throw fault("realm");
}

/** Creates or changes a connection. @throws {Refusal} invalid_request with the issue; temporarily_unavailable */
export async function applyConnection(file: FileConnection, realmId: string, box: SecretBox, event: Event, tx: Tx): Promise<Outcome> {
  const added = newConnection(file, newId(systemClock, randomBytes), realmId, box);
  const { title, clientId, scopes, domains, trustsAcr, enabled, clientSecret } = file;
  const decide = (current: Connection) => {
    assertUnchanged(current, added, file);
    return changedConnection(current, { title, clientId, scopes, domains, trustsAcr, enabled, clientSecret }, box);
  };
  return putRecord("connection", connectionRecords.on(tx), added, decide, event);
}

type FileIssuer = ProvisionFile["workloadIssuers"][number];
const KIND_STAYS = new Refusal("invalid_request", "workload_issuer_of_another_kind", {
  description: "The kind of a platform cannot be changed.",
  issues: [{ path: "kind", message: "is another one at this issuer, and cannot be changed" }],
});

/** Trusts a platform, or changes how. @throws {Refusal} invalid_request with the issues; temporarily_unavailable */
export const applyWorkloadIssuer = async (input: FileIssuer, event: Event, tx: Tx): Promise<Outcome> =>
  putRecord(
    "workload_issuer",
    workloadIssuers.on(tx),
    newTrust(input),
    (current: WorkloadIssuer) => {
      if (input.kind !== current.kind) throw KIND_STAYS;
      return changedTrust(current, input);
    },
    event,
  );

const nameOf = ({ issuer, subject, claims }: WorkloadIdentity): string => JSON.stringify([issuer, subject, Object.entries(claims).sort()]);

/** An identity that a client does not have yet, with its place in the file. */
type Missing = { readonly clientId: string; readonly identity: WorkloadIdentity; readonly path: string };

/**
 * Removes the identities that clients of the file list no longer: another client may list them, before or after.
 * @returns clients that lost one, and what they lack
 */
export async function removeIdentities(clients: readonly FileClient[], event: Event, tx: Tx) {
  const changed = new Set<string>();
  const missing: Missing[] = [];
  for (const [at, { clientId, workloadIdentities: identities }] of clients.entries()) {
    if (identities === undefined) continue;
    const wanted = new Set(identities.map(nameOf));
    const current = await identitiesOf(tx, clientId);
    const known = new Set(current.map(nameOf));
    for (const { id } of current.filter((identity) => !wanted.has(nameOf(identity)))) {
      await unassignIdentity(tx, id, { ...event, event: "workload_identity.removed" });
      changed.add(clientId);
    }
    for (const [index, identity] of identities.entries())
      if (!known.has(nameOf(identity))) missing.push({ clientId, identity, path: `clients.${at}.workloadIdentities.${index}` });
  }
  return { changed, missing };
}

/** @throws {Refusal} as `assignIdentity` */
export const addIdentity = ({ clientId, identity }: Missing, event: Event, tx: Tx): Promise<unknown> =>
  assignIdentity(tx, clientId, identity, { ...event, event: "workload_identity.added" });
