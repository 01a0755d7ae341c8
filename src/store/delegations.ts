import type { AuditEntry } from "../audit.ts";
import type { Delegations, NewDelegation } from "../core/ports.ts";
import { insertAudit, newAuditEntry } from "./audit-log.ts";
import { coalesceWrites, verdicts } from "./coalesce.ts";
import { endedAbove, pausedFor } from "./delegation-rows.ts";
import { partiesEnabled, touchClients, userEpochPassed } from "./grant-rows.ts";
import { amongKeys, jsonRows, type Sql, statement } from "./sql.ts";
import { DELEGATIONS } from "./tables/delegations.ts";

const NEW = ["id", "kind", "jti", "parentId", "parentJti", "grantId", "userId", "actor", "scopes", "audience", "expiresAt", "cnf"] as const;

// Locks the agents: the deletion of one waits for the delegation, and then cuts it, so that no later client with its client_id has it. If
// something above a delegation ends while it is stored, its path and grant make it inactive. Foreign keys lock its parent, grant and user,
// row by row in the order of insertion; closing an account takes the same order. The times keep the order of the requests.
const RECORD = statement(
  "delegation_record",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       n int, client_id text, ${DELEGATIONS.recordset(NEW)}, audit jsonb)),
   agents as materialized (
     select client_id from clients where ${amongKeys("client_id", "client_id", "input")} and enabled order by id for key share),
   valid as (
     select input.*, coalesce(parent.path, '{}') || input.id as path
     from input
       join grants on grants.id = input.grant_id and grants.user_id = input.user_id and grants.revoked_at is null and grants.signed_out_at is null
         and not ${userEpochPassed("grants")}
       left join delegations parent on parent.id = input.parent_id and parent.grant_id = input.grant_id and parent.jti = input.parent_jti
     where (input.parent_id is null or parent.id is not null) and ${partiesEnabled("grants")}
       and input.client_id in (select client_id from agents)
       and not ${pausedFor("input.client_id", "input.user_id")}
       and not exists (select 1 from revocations where revocations.jti = input.parent_jti)
       and not ${endedAbove("parent.path")}),
   stored as (
     insert into delegations (${DELEGATIONS.names(NEW)}, path, created_at)
     select ${DELEGATIONS.values(NEW)}, path, statement_timestamp() + n * interval '1 microsecond'
     from valid order by parent_id is null, trim_array(path, 1)),
   ${touchClients("valid")},
   logged as (${insertAudit("valid")})
   select n from valid`,
);

const newRow = DELEGATIONS.writer(NEW);

const inputRow = (n: number, { parent, ...delegation }: NewDelegation, audit: AuditEntry) => ({
  n,
  client_id: delegation.actor,
  ...newRow({ ...delegation, cnf: delegation.cnf ?? null, parentId: parent.delegationId ?? null, parentJti: parent.jti }),
  audit: newAuditEntry(audit),
});

export function delegations(sql: Sql): Delegations {
  const record = coalesceWrites(async (exchanges: readonly Parameters<Delegations["record"]>[]) => {
    const rows = exchanges.map(([delegation, audit], n) => inputRow(n, delegation, audit));
    return verdicts(rows, await sql.query<{ n: number }>(RECORD, [jsonRows(rows)]));
  });
  return { record: (...exchange) => record(exchange) };
}
