import { Migration } from "@mikro-orm/migrations";

/**
 * The tree of delegations, the people whom other issuers vouch for, and what signing out ends besides refresh families.
 * A delegation's path is the ids from the topmost delegation down to itself: one read judges all of it.
 */
const statements = [
  "alter table grants add column signed_out_at timestamptz",
  `create table delegations (
    id uuid not null primary key,
    kind text not null constraint delegations_kind_check check (kind in ('access_token', 'id_jag')),
    jti text not null,
    parent_id uuid constraint delegations_parent_id_foreign references delegations (id) on delete cascade,
    parent_jti text not null,
    grant_id uuid not null constraint delegations_grant_id_foreign references grants (id) on delete cascade,
    user_id uuid not null constraint delegations_user_id_foreign references users (id) on delete cascade,
    path uuid[] not null,
    actor text not null,
    scopes text[] not null,
    audience text[] not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    cut_at timestamptz
  )`,
  "create index delegations_parent_id_index on delegations (parent_id)",
  "create index delegations_grant_id_index on delegations (grant_id)",
  "create index delegations_user_id_index on delegations (user_id)",
  "create index delegations_actor_index on delegations (actor)",
  "create index delegations_expires_at_index on delegations (expires_at)",
  `create table identity_links (
    issuer text not null,
    subject text not null,
    user_id uuid not null constraint identity_links_user_id_foreign references users (id) on delete cascade,
    created_at timestamptz not null default now(),
    primary key (issuer, subject)
  )`,
  "create index identity_links_user_id_index on identity_links (user_id)",
];

export class Delegations extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
