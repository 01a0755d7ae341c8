import type { AuditActor, AuditEntry, AuditEvent } from "../audit.ts";
import type { AuditFilter, AuditRecord, AuditTrail } from "../management/audit-ports.ts";
import { auditChain } from "./audit-chain.ts";
import { hashText } from "./audit-seal-rows.ts";
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
  readonly rule: string | null;
  readonly error: string | null;
  readonly repeats: number | null;
  readonly seq: number | null;
  readonly hash: string | null;
}

const COLUMNS = `id::text, ${preciseSeconds("at")} as at, event, outcome, reason, actor_type, actor_id, user_id, client_id, grant_type, scope, resources, jti,
     grant_id, act_chain, address, request_id, rule, error, repeats, seq::float8 as seq, ${hashText("hash")} as hash`;

/** Parameters 1 to 11, in the order of `filterOf`. */
const FILTER = `($1::text is null or event = $1::text) and ($2::text is null or outcome = $2::text) and ($3::text is null or actor_id = $3::text)
     and ($4::text is null or user_id = $4::text) and ($5::text is null or client_id = $5::text)
     and ($6::text is null or grant_id = $6::text) and ($7::text is null or jti = $7::text) and ($8::text is null or request_id = $8::text)
     and ($9::text is null or reason = $9::text)
     and ($10::float8 is null or audit_records.at >= to_timestamp($10::float8)) and ($11::float8 is null or audit_records.at < to_timestamp($11::float8))`;

const filterOf = (filter: AuditFilter): readonly (string | number | null)[] => {
  const { event, outcome, actorId, userId, clientId, grantId, jti, requestId, reason, since, until } = filter;
  return [event, outcome, actorId, userId, clientId, grantId, jti, requestId, reason, since, until].map(open);
};

const LIST = statement(
  "audit_list",
  `select ${COLUMNS} from audit_records
   where ${FILTER} and ($12::uuid is null or audit_records.id < $12::uuid)
   order by audit_records.id desc limit $13::int`,
);

const HEAD = statement("audit_head", "select coalesce(max(seq), 0)::float8 as seq from audit_records");

const FOLLOW = statement(
  "audit_follow",
  `select ${COLUMNS} from audit_records
   where ${FILTER} and audit_records.seq > $12::float8::bigint and audit_records.seq <= $13::float8::bigint
   order by audit_records.seq limit $14::int`,
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
  ...told("rule", row.rule),
  ...told("error", row.error),
  ...told("repeats", row.repeats),
  link: row.seq === null || row.hash === null ? null : { seq: row.seq, hash: row.hash },
});

export const auditTrail = (sql: Sql): AuditTrail => ({
  list: async (filter, limit, after) =>
    pageOf(await sql.query<AuditColumns>(LIST, [...filterOf(filter), open(after), limit + 1]), limit, recordOf),
  // Numbers are given under a lock and become visible together with all that are smaller, so that nothing appears behind what was reached.
  follow: async (filter, limit, after) => {
    const [head] = await sql.query<{ seq: number }>(HEAD, []);
    const to = head?.seq ?? 0;
    const rows = await sql.query<AuditColumns>(FOLLOW, [...filterOf(filter), after, to, limit]);
    return { items: rows.map(recordOf), reached: rows.length === limit ? (rows.at(-1)?.seq ?? to) : Math.max(after, to) };
  },
  ...auditChain(sql),
});
