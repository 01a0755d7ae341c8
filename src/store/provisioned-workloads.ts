import type { AuditEntry } from "../audit.ts";
import type { WorkloadIdentity, WorkloadIssuer } from "../clients/workload.ts";
import { Refusal } from "../errors.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { changedTrust, newTrust } from "../management/workload-rules.ts";
import { addWorkloadIssuer, assignIdentity, changeWorkloadIssuer, identitiesOf, unassignIdentity } from "./managed-workloads.ts";
import type { Outcome } from "./provisioned-users.ts";
import type { Tx } from "./sql.ts";

type FileIssuer = ProvisionFile["workloadIssuers"][number];
type Event = Pick<AuditEntry, "outcome" | "actor">;

/** Trusts a platform, or changes how. @throws {Refusal} invalid_request with the issues; temporarily_unavailable for one that was just removed */
export async function applyWorkloadIssuer(input: FileIssuer, event: Event, tx: Tx): Promise<Outcome> {
  const added = await addWorkloadIssuer(tx, newTrust(input), { ...event, event: "workload_issuer.created" });
  if (added !== undefined) return "created";
  let before: WorkloadIssuer | undefined;
  const decide = (current: WorkloadIssuer) => {
    before = current;
    return changedTrust(current, input);
  };
  const after = await changeWorkloadIssuer(tx, input.issuer, decide, { ...event, event: "workload_issuer.changed" });
  if (after === undefined) throw new Refusal("temporarily_unavailable", "workload_issuer_just_removed", { retryAfter: 1 });
  return after === before ? "unchanged" : "changed";
}

const nameOf = ({ issuer, subject, claims }: WorkloadIdentity): string => JSON.stringify([issuer, subject, Object.entries(claims).sort()]);

/** Makes these the identities of a client; others are removed. @returns whether any changed  @throws {Refusal} as `assignIdentity` */
export async function applyIdentities(clientId: string, identities: readonly WorkloadIdentity[], event: Event, tx: Tx): Promise<boolean> {
  const wanted = new Set(identities.map(nameOf));
  const current = await identitiesOf(tx, clientId);
  const known = new Set(current.map(nameOf));
  const stale = current.filter((identity) => !wanted.has(nameOf(identity)));
  const missing = identities.filter((identity) => !known.has(nameOf(identity)));
  for (const { id } of stale) await unassignIdentity(tx, id, { ...event, event: "workload_identity.removed" });
  for (const identity of missing) await assignIdentity(tx, clientId, identity, { ...event, event: "workload_identity.added" });
  return stale.length + missing.length > 0;
}
