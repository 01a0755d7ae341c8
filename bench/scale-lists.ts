import type { AuditFilter } from "../src/management/inputs.ts";
import { auditTrail } from "../src/store/audit-trail.ts";
import { clientDirectory, managedClients } from "../src/store/clients.ts";
import type { Sql } from "../src/store/sql.ts";
import { managedUsers } from "../src/store/users.ts";
import { anAudit } from "../test/support/accounts.ts";
import { aScene } from "../test/support/grants.ts";
import { manyGrants } from "../test/support/many.ts";

const ALL = { kind: "all" } as const;
const GRANTS = [100, 12_300, 85_000];
/** The aim for each, in milliseconds. */
const AIM = 100;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Disables and deletes clients with many grants. */
export async function stopClients(sql: Sql): Promise<void> {
  console.log("| grants of the client | disable, ms | delete, ms | aim |\n| --- | --- | --- | --- |");
  for (const count of GRANTS) {
    const [disabled, deleted] = [await aScene(sql), await aScene(sql)];
    for (const scene of [disabled, deleted]) await manyGrants(sql, scene, count);
    const idOf = async (clientId: string) => (await clientDirectory(sql).byClientId(clientId))?.id ?? "";
    const [first, second] = [await idOf(disabled.clientId), await idOf(deleted.clientId)];
    const off = (client: object) => ({ settings: { ...client, enabled: false }, secret: "kept" }) as never;
    const disable = await timed(() => managedClients(sql).change(first, ALL, off, anAudit("client.changed")));
    const remove = await timed(() => managedClients(sql).delete(second, ALL, anAudit("client.deleted")));
    console.log(`| ${count} | ${disable.toFixed(0)} | ${remove.toFixed(0)} | < ${AIM} |`);
  }
}

/** Disables users with many grants. */
export async function stopUsers(sql: Sql): Promise<void> {
  console.log("\n| grants of the user | disable, ms | aim |\n| --- | --- | --- |");
  for (const count of GRANTS) {
    const scene = await aScene(sql);
    await manyGrants(sql, scene, count);
    const disable = await timed(() => managedUsers(sql).setEnabled(scene.userId, false, anAudit("user.changed")));
    console.log(`| ${count} | ${disable.toFixed(0)} | < ${AIM} |`);
  }
}

/** Asks for the first page of audit lists by each filter. */
export async function auditLists(sql: Sql, records: number): Promise<void> {
  const middle = Math.floor(records / 2);
  const day = Math.floor(Date.now() / 1000) - 15 * 86_400;
  const filters: Readonly<Record<string, AuditFilter>> = {
    none: {},
    user: { userId: `user-${middle % 100_000}` },
    client: { clientId: `client-${middle % 1000}` },
    actor: { actorId: [`client-${middle % 1000}`] },
    jti: { jti: `jti-${middle}` },
    grant: { grantId: `grant-${middle % 500_000}` },
    request: { requestId: `request-${middle}` },
    event: { event: "code.issued" },
    failures: { outcome: "failure" },
    reason: { reason: "scope_not_allowed" },
    "a reason that no record has": { reason: "client_disabled" },
    day: { since: day, until: day + 86_400 },
    "user and day": { userId: `user-${middle % 100_000}`, since: day, until: day + 86_400 },
    "client and failures": { clientId: `client-${middle % 1000}`, outcome: "failure" },
  };
  console.log(`\n| filter, ${records} records | first page, ms | warm, ms | records found | aim |\n| --- | --- | --- | --- | --- |`);
  await auditTrail(sql).list({ requestId: "none" }, { limit: 50 }); // loads what composes lists
  for (const [name, filter] of Object.entries(filters)) {
    let found = 0;
    const list = async () => {
      found = (await auditTrail(sql).list(filter, { limit: 50 })).items.length;
    };
    const [first, warm] = [await timed(list), await timed(list)];
    console.log(`| ${name} | ${first.toFixed(0)} | ${warm.toFixed(0)} | ${found} | < ${AIM} |`);
  }
}
