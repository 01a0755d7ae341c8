import { Migration } from "@mikro-orm/migrations";

/** No access token lives longer than a day (settings); an hour more for clocks that differ. */
const LONGEST = "now() + interval '25 hours'";

/** A trigger and its function: after each row of an event on a table, something is marked. */
const marking = (name: string, event: string, when: string | undefined, body: string): readonly string[] => [
  `create function ${name}() returns trigger language plpgsql as $$ begin ${body} return null; end $$`,
  `create trigger ${name} after ${event} for each row ${when === undefined ? "" : `when (${when})`} execute function ${name}()`,
];

/**
 * Marks of what ended, for guards that verify tokens by themselves. Triggers write them, so that no statement can end anything in silence,
 * and in the very transaction. A mark has its transaction's id, by which readers find what was committed late (decision 0013).
 */
const statements = [
  `create table revocation_marks (
    id bigserial primary key,
    xid bigint not null,
    kind text not null constraint revocation_marks_kind_check check (kind in ('jti', 'grant', 'client', 'user')),
    key text not null,
    lifted boolean not null,
    revoked_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  "create index revocation_marks_xid_index on revocation_marks (xid)",
  "create index revocation_marks_kind_key_index on revocation_marks (kind, key)",
  "create index revocation_marks_expires_at_index on revocation_marks (expires_at)",
  `create function mark_revocation(text, text, boolean, timestamptz) returns void language sql as $$
     insert into revocation_marks (xid, kind, key, lifted, expires_at) values (pg_current_xact_id()::text::bigint, $1, $2, $3, $4)
   $$`,
  ...marking("mark_token_revoked", "insert on revocations", undefined, "perform mark_revocation('jti', new.jti, false, new.expires_at);"),
  ...marking(
    "mark_grant_revoked",
    "update of revoked_at on grants",
    "old.revoked_at is null and new.revoked_at is not null",
    `perform mark_revocation('grant', new.id::text, false, ${LONGEST});`,
  ),
  ...marking(
    "mark_client_changed",
    "update of enabled on clients",
    "old.enabled <> new.enabled",
    `perform mark_revocation('client', new.client_id, new.enabled, ${LONGEST});`,
  ),
  ...marking("mark_client_deleted", "delete on clients", undefined, `perform mark_revocation('client', old.client_id, false, ${LONGEST});`),
  // A client that comes again under the same client_id.
  ...marking(
    "mark_client_returned",
    "insert on clients",
    undefined,
    `if exists (select 1 from revocation_marks where kind = 'client' and key = new.client_id) then
       perform mark_revocation('client', new.client_id, new.enabled, ${LONGEST});
     end if;`,
  ),
  ...marking(
    "mark_user_changed",
    "update of enabled on users",
    "old.enabled <> new.enabled",
    `perform mark_revocation('user', new.id::text, new.enabled, ${LONGEST});`,
  ),
  ...marking("mark_user_deleted", "delete on users", undefined, `perform mark_revocation('user', old.id::text, false, ${LONGEST});`),
];

export class RevocationEvents extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
