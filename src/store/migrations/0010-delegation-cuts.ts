import { Migration } from "@mikro-orm/migrations";

/**
 * A cut names who made it, and is marked for guards that verify by themselves. What is below it needs no mark: a delegated token names the
 * tokens that it came of (decision 0013).
 */
const statements = [
  "alter table delegations add column cut_by_type text, add column cut_by text",
  `create function mark_delegation_cut() returns trigger language plpgsql as $$
   begin perform mark_revocation('jti', new.jti, false, new.expires_at); return null; end $$`,
  `create trigger mark_delegation_cut after update of cut_at on delegations for each row
     when (old.cut_at is null and new.cut_at is not null and new.kind = 'access_token') execute function mark_delegation_cut()`,
];

export class DelegationCuts extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
