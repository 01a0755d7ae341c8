import type { AuditActor, AuditEntry, AuditEvent } from "../audit.ts";
import type { AuditRecord, AuditTrail } from "../management/ports.ts";
import { open, pageOf } from "./pages.ts";
import { preciseSeconds, type Sql, statement } from "./sql.ts";

interface AuditColumns {
  readonly id: string;
  readonly at: number;
  readonly event: AuditEvent;
  readonly outcome: AuditEntry["outcome"];
  readonly reason: string | null;
  readonly actor_type: AuditActor["type"];
  readonly actor_id: string;
  readonly user_id: string | null;
  readonly client_id: string | null;
  readonly grant_type: string | null;
  readonly scope: string | null;
  readonly resources: readonly string[] | null;
  readonly jti: string | null;
  readonly grant_id: string | null;
  readonly act_chain: readonly string[] | null;
  readonly address: string | null;
  readonly request_id: string | null;
}

const LIST = statement(
  "audit_list",
  `select id::text, ${preciseSeconds("at")} as at, event, outcome, reason, actor_type, actor_id, user_id, client_id, grant_type, scope, resources, jti,
     grant_id, act_chain, address, request_id
   from audit_records
   where ($1::text is null or event = $1::text) and ($2::text is null or outcome = $2::text) and ($3::text is null or actor_id = $3::text)
     and ($4::text is null or user_id = $4::text) and ($5::text is null or client_id = $5::text)
     and ($6::float8 is null or audit_records.at >= to_timestamp($6::float8)) and ($7::float8 is null or audit_records.at < to_timestamp($7::float8))
     and ($8::uuid is null or audit_records.id < $8::uuid)
   order by audit_records.id desc limit $9::int`,
);

const told = <Name extends string, Value>(name: Name, value: Value | null) =>
  (value === null ? {} : { [name]: value }) as { readonly [N in Name]?: Value };

const recordOf = (row: AuditColumns): AuditRecord => ({
  id: row.id,
  at: row.at,
  event: row.event,
  outcome: row.outcome,
  actor: { type: row.actor_type, id: row.actor_id },
  ...told("reason", row.reason),
  ...told("userId", row.user_id),
  ...told("clientId", row.client_id),
  ...told("grantType", row.grant_type),
  ...told("scope", row.scope),
  ...told("resources", row.resources),
  ...told("jti", row.jti),
  ...told("grantId", row.grant_id),
  ...told("actChain", row.act_chain),
  ...told("address", row.address),
  ...told("requestId", row.request_id),
});

export const auditTrail = (sql: Sql): AuditTrail => ({
  list: async ({ event, outcome, actorId, userId, clientId, since, until }, limit, after) => {
    const filter = [open(event), open(outcome), open(actorId), open(userId), open(clientId), open(since), open(until), open(after)];
    return pageOf(await sql.query<AuditColumns>(LIST, [...filter, limit + 1]), limit, recordOf);
  },
});
