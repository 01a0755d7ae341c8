import { Migration, Migrator } from "@mikro-orm/migrations";
import { MIGRATION_TABLE, MIGRATIONS, statementsOf } from "./migrate.ts";
import { entities } from "./tables/entities.ts";

const migrationsList = MIGRATIONS.map((name) => ({
  name,
  class: class extends Migration {
    override up(): void {
      for (const statement of statementsOf(name)) this.addSql(statement);
    }
  },
}));

/** For either database. Standard output belongs to the log, so MikroORM logs nothing itself. */
export const settings = {
  entities: [...entities.values()],
  extensions: [Migrator],
  // Each migration in a transaction of its own: requests wait for the locks of one, not of all.
  migrations: { migrationsList, tableName: MIGRATION_TABLE, snapshot: false, disableForeignKeys: false, silent: true, allOrNothing: false },
  // Migrations make functions and triggers, which belong to no entity.
  schemaGenerator: { ignoreRoutines: true, ignoreTriggers: true },
  logger: () => {},
};
