import { Migration } from "@mikro-orm/migrations";

/**
 * Disabling or deleting is one row, whatever was granted before: the epoch of a user or client moves on, and what carries an earlier one
 * counts no more. Rows beyond a first batch are removed in the background (docs/decisions/0036).
 */
const statements = [
  "alter table users add column epoch int not null default 0, add column deleted_at timestamptz",
  "alter table clients add column epoch int not null default 0",
  "alter table sessions add column user_epoch int not null default 0",
  "alter table authorization_codes add column user_epoch int not null default 0, add column client_epoch int not null default 0",
  "alter table grants add column user_epoch int not null default 0, add column client_epoch int not null default 0",
  `create table removals (
    id uuid not null default uuid_v7() primary key,
    kind text not null constraint removals_kind_check
      check (kind in ('client_disabled', 'client_deleted', 'user_signed_out', 'user_disabled', 'user_deleted')),
    key text not null,
    epoch int not null,
    after_client_id text,
    after_id uuid,
    removed jsonb not null default '{}',
    created_at timestamptz not null default now(),
    constraint removals_kind_key_unique unique (kind, key)
  )`,
  // A removal reads the grants of a client or user page by page.
  "create index grants_client_id_id_index on grants (client_id, id)",
  "drop index grants_client_id_index",
  "create index grants_user_id_client_id_id_index on grants (user_id, client_id, id)",
  "drop index grants_user_id_client_id_index",
  // A deleted client's own event covers its grants, so that guards are sent one event and not one for each grant.
  `create or replace function mark_grant_revoked() returns trigger language plpgsql as $$
   begin
     if new.document_client is not null or exists (select 1 from clients where clients.client_id = new.client_id) then
       perform mark_revocation('grant', new.id::text, false, now() + interval '25 hours');
     end if;
     return null;
   end $$`,
  // A client that comes again under the same client_id: its own event is lifted, so its old grants get theirs now.
  `create or replace function mark_client_returned() returns trigger language plpgsql as $$
   begin
     if exists (select 1 from revocation_marks where kind = 'client' and key = new.client_id) then
       perform mark_revocation('grant', grants.id::text, false, now() + interval '25 hours')
         from grants where grants.client_id = new.client_id and grants.revoked_at > now() - interval '25 hours'
           and not exists (select 1 from revocation_marks marked where marked.kind = 'grant' and marked.key = grants.id::text);
       perform mark_revocation('client', new.client_id, new.enabled, now() + interval '25 hours');
     end if;
     return null;
   end $$`,
];

export class Removals extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
