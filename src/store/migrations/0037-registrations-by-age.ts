import { Migration } from "@mikro-orm/migrations";

const statements = [
  "create index clients_dynamic_unused_index on clients (created_at) where origin = 'dynamic' and last_used_at is null",
  "create index clients_dynamic_last_used_index on clients (last_used_at) where origin = 'dynamic'",
];

/** The sweep finds unused registrations by an index, not by reading all clients each minute. */
export class RegistrationsByAge extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}
