import { Migration } from "@mikro-orm/migrations";

const statements = [
  "alter table audit_records add column seq bigint, add column hash bytea",
  "alter table audit_records add constraint audit_records_seq_unique unique (seq)",
  "alter table audit_records add constraint audit_records_seal_check check ((seq is null) = (hash is null))",
  "create index audit_records_unsealed_index on audit_records (id) where seq is null",
  `create table audit_checkpoints (
    seq bigint not null primary key,
    hash bytea not null,
    at timestamptz not null default now(),
    kid text not null,
    jws text not null
  )`,
  // Records may be added, and a record may be sealed once. Whoever owns the tables can take the triggers away; the chain shows what was done then.
  `create function audit_is_append_only() returns trigger language plpgsql as $$
   begin
     if tg_table_name = 'audit_records' and tg_op = 'UPDATE' then
       if old.seq is null and new.seq is not null and to_jsonb(new) - 'seq' - 'hash' = to_jsonb(old) - 'seq' - 'hash' then
         return new;
       end if;
     end if;
     raise exception 'the audit trail is append-only' using errcode = 'restrict_violation';
   end
   $$`,
  ...["audit_records", "audit_checkpoints"].flatMap((table) => [
    `create trigger ${table}_append_only before update or delete on ${table} for each row execute function audit_is_append_only()`,
    `create trigger ${table}_not_emptied before truncate on ${table} for each statement execute function audit_is_append_only()`,
  ]),
];

/** The trail becomes a chain: sealed records have a number and a hash, checkpoints are signed, and neither can be changed by a slip. */
export class AuditChain extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
