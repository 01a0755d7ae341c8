import type { AuditEntry } from "../audit.ts";
import type { WorkloadIdentity, WorkloadIssuer } from "../clients/workload.ts";
import { Refusal } from "../errors.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { changedTrust, newTrust } from "../management/workload-rules.ts";
import { addWorkloadIssuer, assignIdentity, changeWorkloadIssuer, identitiesOf, unassignIdentity } from "./managed-workloads.ts";
import type { Outcome } from "./provisioned-users.ts";
import type { Tx } from "./sql.ts";

type FileClient = ProvisionFile["clients"][number];
type FileIssuer = ProvisionFile["workloadIssuers"][number];
type Event = Pick<AuditEntry, "outcome" | "actor">;

const KIND_STAYS = new Refusal("invalid_request", "workload_issuer_of_another_kind", {
  description: "The kind of a platform cannot be changed.",
  issues: [{ path: "kind", message: "is another one at this issuer, and cannot be changed" }],
});

/** Trusts a platform, or changes how. @throws {Refusal} invalid_request with the issues; temporarily_unavailable for one that was just removed */
export async function applyWorkloadIssuer(input: FileIssuer, event: Event, tx: Tx): Promise<Outcome> {
  const added = await addWorkloadIssuer(tx, newTrust(input), { ...event, event: "workload_issuer.created" });
  if (added !== undefined) return "created";
  let before: WorkloadIssuer | undefined;
  const decide = (current: WorkloadIssuer) => {
    before = current;
    if (input.kind !== current.kind) throw KIND_STAYS;
    return changedTrust(current, input);
  };
  const after = await changeWorkloadIssuer(tx, input.issuer, decide, { ...event, event: "workload_issuer.changed" });
  if (after === undefined) throw new Refusal("temporarily_unavailable", "workload_issuer_just_removed", { retryAfter: 1 });
  return after === before ? "unchanged" : "changed";
}

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
