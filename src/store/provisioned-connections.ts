import { randomBytes } from "node:crypto";
import type { AuditEntry } from "../audit.ts";
import { systemClock } from "../clock.ts";
import { Refusal } from "../errors.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { newId } from "../random.ts";
import type { SecretBox } from "../secret-box.ts";
import { type Connection, incoherent, type NewConnection } from "../upstream/connection.ts";
import { changedConnection, newConnection } from "../upstream/stored-secret.ts";
import { addConnection, changeConnection } from "./connections.ts";
import type { Outcome } from "./provisioned-users.ts";
import type { Tx } from "./sql.ts";

type FileConnection = ProvisionFile["connections"][number];

/** Refuses what cannot be changed: else an existing connection got the secret that is for another provider. */
function assertUnchanged(current: Connection, { issuer, realmId }: NewConnection, { authMethod, realm }: FileConnection): void {
  const fault = (member: string) => incoherent(member, `is another one at the connection ${current.name}, and cannot be changed`);
  if (current.issuer !== issuer) throw fault("issuer");
  if (authMethod !== undefined && authMethod !== current.authMethod) throw fault("authMethod");
  if (realm !== undefined && realmId !== current.realmId) throw fault("realm");
}

/** Creates or changes a connection. @throws {Refusal} invalid_request with the issue; temporarily_unavailable for one that was just removed */
export async function applyConnection(
  connection: FileConnection,
  realmId: string,
  box: SecretBox,
  audit: Pick<AuditEntry, "outcome" | "actor">,
  tx: Tx,
): Promise<Outcome> {
  const added = newConnection(connection, newId(systemClock, randomBytes), realmId, box);
  if ((await addConnection(tx, added, { ...audit, event: "connection.created" })) !== undefined) return "created";
  let before: Connection | undefined;
  const { title, clientId, scopes, domains, trustsAcr, enabled, clientSecret } = connection;
  const change = { title, clientId, scopes, domains, trustsAcr, enabled, clientSecret };
  const decide = (current: Connection) => {
    before = current;
    assertUnchanged(current, added, connection);
    return changedConnection(current, change, box);
  };
  const after = await changeConnection(tx, added.name, decide, { ...audit, event: "connection.changed" });
  if (after === undefined) throw new Refusal("temporarily_unavailable", "connection_just_removed", { retryAfter: 1 });
  return after === before ? "unchanged" : "changed";
}
