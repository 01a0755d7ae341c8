import { Migration } from "@mikro-orm/migrations";

/**
 * What lets people tell their sessions apart, and the grant of the token set that began with a session: it ends with it. The grant is no
 * foreign key, for it is written in the statement that makes the grant.
 */
export class SessionPlaces extends Migration {
  override up(): void {
    this.addSql("alter table sessions add column last_seen_at timestamptz not null default now()");
    this.addSql("alter table sessions add column address text");
    this.addSql("alter table sessions add column browser text");
    this.addSql("alter table sessions add column system text");
    this.addSql("alter table sessions add column grant_id uuid");
  }
}
