import { hash } from "node:crypto";
import type { AuditActor, AuditEntry, AuditEvent } from "../audit.ts";
import type { AuditFilter, AuditRecord, AuditTrail } from "../management/audit-ports.ts";
import { auditChain } from "./audit-chain.ts";
import { hashText } from "./audit-seal-rows.ts";
import { pageOf } from "./pages.ts";
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

/** Seconds by which the id of a record may be older or newer than its time: one is the application's, the other the transaction's. */
const ID_SLACK = 600;

/** The least UUIDv7 of a moment: ids begin with their milliseconds. @param moment SQL expression, in seconds since the epoch */
const firstId = (moment: string): string =>
  `(lpad(to_hex((greatest(0, least(${moment}, 281474976710)) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid`;

/** What each member of a filter asks for; `$` stands for its parameter. One that is left out has no condition, and keeps no index away. */
const CONDITIONS = {
  event: "event = $::text",
  outcome: "outcome = $::text",
  actorId: "actor_id = $::text",
  userId: "user_id = $::text",
  clientId: "client_id = $::text",
  grantId: "grant_id = $::text",
  jti: "jti = $::text",
  requestId: "request_id = $::text",
  reason: "reason = $::text",
  since: `audit_records.at >= to_timestamp($::float8) and audit_records.id >= ${firstId(`$::float8 - ${ID_SLACK}`)}`,
  until: `audit_records.at < to_timestamp($::float8) and audit_records.id < ${firstId(`$::float8 + ${ID_SLACK}`)}`,
} as const satisfies { readonly [Member in keyof AuditFilter]-?: string };

const MEMBERS = Object.keys(CONDITIONS) as readonly (keyof typeof CONDITIONS)[];

/** The members that a filter has, and their values. A refusal is named in the text, so that its own index serves. */
function filtering(filter: AuditFilter, first: number) {
  const given = MEMBERS.filter((member) => filter[member] !== undefined);
  const conditions = given.map((member, at) =>
    member === "outcome" && filter.outcome === "failure"
      ? `outcome = 'failure' and $${first + at}::text is not null`
      : CONDITIONS[member].replaceAll("$::", () => `$${first + at}::`),
  );
  const words = given.map((member) => (member === "outcome" ? String(filter.outcome) : member.replace(/[A-Z]/g, (letter) => `_${letter}`)));
  return {
    name: words.join("_").toLowerCase(),
    text: conditions.map((condition) => `and ${condition}`).join("\n     "),
    values: given.map((member) => filter[member] ?? null),
  };
}

/** A name has 63 characters at most, so many members become a digest. */
const named = (kind: string, members: string): string =>
  members.length <= 40 ? `${kind}_${members}` : `${kind}_${hash("sha256", members).slice(0, 16)}`;

/** Pages of one filter, newest first. @param after id of the last record of the page before */
function listStatement(filter: AuditFilter, limit: number, after: string | undefined) {
  const { name, text, values } = filtering(filter, after === undefined ? 2 : 3);
  const page = after === undefined ? "true" : "audit_records.id < $2::uuid";
  return {
    statement: statement(
      named(after === undefined ? "audit_list" : "audit_list_after", name),
      `select ${COLUMNS} from audit_records where ${page} ${text}\n   order by audit_records.id desc limit $1::int`,
    ),
    values: [limit, ...(after === undefined ? [] : [after]), ...values],
  };
}

const HEAD = statement("audit_head", "select coalesce(max(seq), 0)::float8 as seq from audit_records");

function followStatement(filter: AuditFilter, limit: number, after: number, to: number) {
  const { name, text, values } = filtering(filter, 4);
  return {
    statement: statement(
      named("audit_follow", name),
      `select ${COLUMNS} from audit_records
   where audit_records.seq > $1::float8::bigint and audit_records.seq <= $2::float8::bigint ${text}
   order by audit_records.seq limit $3::int`,
    ),
    values: [after, to, limit, ...values],
  };
}

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
  list: async (filter, limit, after) => {
    const { statement: list, values } = listStatement(filter, limit + 1, after);
    return pageOf(await sql.query<AuditColumns>(list, values), limit, recordOf);
  },
  // Numbers are given under a lock and become visible together with all that are smaller, so that nothing appears behind what was reached.
  follow: async (filter, limit, after) => {
    const [head] = await sql.query<{ seq: number }>(HEAD, []);
    const to = head?.seq ?? 0;
    const { statement: follow, values } = followStatement(filter, limit, after, to);
    const rows = await sql.query<AuditColumns>(follow, values);
    return { items: rows.map(recordOf), reached: rows.length === limit ? (rows.at(-1)?.seq ?? to) : Math.max(after, to) };
  },
  ...auditChain(sql),
});
