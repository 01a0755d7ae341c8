import { Migration } from "@mikro-orm/migrations";

/**
 * Attempts to sign in take a place while they are under way, and count as failures only when the password was wrong. A place that is never
 * given back, because its process has died or its database did not answer, is free again at `pending_until`.
 */
export class AttemptsInFlight extends Migration {
  override up(): void {
    this.addSql(`alter table sign_in_failures
      add column pending integer not null default 0,
      add column pending_until timestamptz not null default now()`);
  }
}
