import type { AuditEntry } from "../audit.ts";
import type { Delegations, NewDelegation } from "../core/ports.ts";
import { insertAudit, newAuditRow } from "./audit-rows.ts";
import { coalesceWrites } from "./coalesce.ts";
import { endedAbove, pausedFor } from "./delegation-rows.ts";
import { standsOn, touchClients, userEpochPassed, verdicts } from "./grant-rows.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

// What is stored just when something above it ends is judged through its path and grant, so nothing has to be locked here. Foreign keys
// hold what is above a row, its grant and its person until the end, row by row in the order of insertion; the closing of an account goes
// the same way. Those of one statement were asked for one after the other, and their moments say so.
const RECORD = statement(
  "delegation_record",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       n int, id uuid, kind text, jti text, parent_id uuid, parent_jti text, grant_id uuid, user_id uuid, client_id text, scopes text[],
       audience text[], expires_at float8, audit jsonb)),
   good as (
     select input.*, coalesce(parent.path, '{}') || input.id as path
     from input
       join grants on grants.id = input.grant_id and grants.user_id = input.user_id and grants.revoked_at is null and grants.signed_out_at is null
         and not ${userEpochPassed("grants")}
       left join delegations parent on parent.id = input.parent_id and parent.grant_id = input.grant_id and parent.jti = input.parent_jti
     where (input.parent_id is null or parent.id is not null) and ${standsOn("grants")}
       and exists (select 1 from clients where clients.client_id = input.client_id and clients.enabled)
       and not ${pausedFor("input.client_id", "input.user_id")}
       and not exists (select 1 from revocations where revocations.jti = input.parent_jti)
       and not ${endedAbove("parent.path")}),
   stored as (
     insert into delegations (id, kind, jti, parent_id, parent_jti, grant_id, user_id, path, actor, scopes, audience, created_at, expires_at)
     select id, kind, jti, parent_id, parent_jti, grant_id, user_id, path, client_id, scopes, audience,
       statement_timestamp() + n * interval '1 microsecond', to_timestamp(expires_at)
     from good order by parent_id is null, trim_array(path, 1)),
   ${touchClients("good")},
   logged as (${insertAudit("good")})
   select n from good`,
);

const inputRow = (n: number, delegation: NewDelegation, audit: AuditEntry) => ({
  n,
  id: delegation.id,
  kind: delegation.kind,
  jti: delegation.jti,
  parent_id: delegation.parent.delegationId,
  parent_jti: delegation.parent.jti,
  grant_id: delegation.grantId,
  user_id: delegation.userId,
  client_id: delegation.actor,
  scopes: delegation.scopes,
  audience: delegation.audience,
  expires_at: delegation.expiresAt,
  audit: newAuditRow(audit),
});

export function delegations(sql: Sql): Delegations {
  const record = coalesceWrites(async (given: readonly Parameters<Delegations["record"]>[]) => {
    const rows = given.map(([delegation, audit], n) => inputRow(n, delegation, audit));
    return verdicts(rows, await sql.query<{ n: number }>(RECORD, [jsonRows(rows)]));
  });
  return {
    record: (...given) => record(given),
  };
}
