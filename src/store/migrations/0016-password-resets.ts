import { Migration } from "@mikro-orm/migrations";

/**
 * Links for a forgotten password, one at most for each person: the next one takes the place of the one before. And a count of the passwords
 * that somebody has had, so that a sign-in by an earlier one can start nothing once it is changed.
 */
export class PasswordResets extends Migration {
  override up(): void {
    this.addSql("alter table credentials add column generation integer not null default 0");
    this.addSql(`create table password_resets (
      user_id uuid not null primary key constraint password_resets_user_id_foreign references users (id) on delete cascade,
      token_hash bytea not null constraint password_resets_token_hash_unique unique,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    )`);
    this.addSql("create index password_resets_expires_at_index on password_resets (expires_at)");
  }
}
