import { Migration } from "@mikro-orm/migrations";

/** Every column but those of the seal; a record may be changed in none of them. */
const SEALED =
  "id, at, event, outcome, reason, actor_type, actor_id, user_id, client_id, grant_type, scope, resources, jti, grant_id, act_chain, address, request_id, rule, error, repeats";
const of = (row: "old" | "new"): string =>
  `row(${SEALED.split(", ")
    .map((column) => `${row}.${column}`)
    .join(", ")})`;

/**
 * Lists with any one filter are read from an index, newest first. Partial, so that a record is in those alone that it has a value for; few
 * records share a jti or a request, and their indexes need no order. Times are read by the ids, which begin with them.
 */
const indexes = [
  "create index audit_records_event_index on audit_records (event, id)",
  "create index audit_records_actor_index on audit_records (actor_id, id)",
  "create index audit_records_user_index on audit_records (user_id, id) where user_id is not null",
  "create index audit_records_client_index on audit_records (client_id, id) where client_id is not null",
  "create index audit_records_grant_index on audit_records (grant_id, id) where grant_id is not null",
  "create index audit_records_jti_index on audit_records using hash (jti) where jti is not null",
  "create index audit_records_request_index on audit_records using hash (request_id) where request_id is not null",
  "create index audit_records_reason_index on audit_records (reason, id) where reason is not null",
  "create index audit_records_failure_index on audit_records (id) where outcome = 'failure'",
  // What a client or user was refused is asked most, and is rare among all that they did.
  "create index audit_records_client_failure_index on audit_records (client_id, id) where outcome = 'failure' and client_id is not null",
  "create index audit_records_user_failure_index on audit_records (user_id, id) where outcome = 'failure' and user_id is not null",
  // The index on all request ids serves this one's question too.
  "drop index audit_records_refused_request_index",
];

/** The condition is part of the trigger: sealing a record, the one change that is allowed, calls no function. */
const triggers = [
  "drop trigger audit_records_append_only on audit_records",
  `create or replace function audit_is_append_only() returns trigger language plpgsql as $$
   begin raise exception 'the audit trail is append-only' using errcode = 'restrict_violation'; end $$`,
  `create trigger audit_records_append_only before update on audit_records for each row
     when (old.seq is not null or new.seq is null or ${of("old")} is distinct from ${of("new")}) execute function audit_is_append_only()`,
  "create trigger audit_records_not_deleted before delete on audit_records for each row execute function audit_is_append_only()",
];

export class AuditByFilter extends Migration {
  override up(): void {
    for (const statement of [...indexes, ...triggers]) this.addSql(statement);
  }
}
