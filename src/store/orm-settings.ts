import { Migrator } from "@mikro-orm/migrations";
import { migrations } from "./migrations/all.ts";
import { MIGRATION_TABLE } from "./migrations/names.ts";
import { entities } from "./tables/all.ts";

/** What MikroORM is told on either database. Standard output belongs to the log, so that it says nothing by itself. */
export const settings = {
  entities,
  extensions: [Migrator],
  migrations: { migrationsList: migrations, tableName: MIGRATION_TABLE, snapshot: false, disableForeignKeys: false, silent: true },
  // uuid_v7(), what marks revocations and what keeps the audit trail as it is are made by migrations and belong to no entity.
  schemaGenerator: { ignoreRoutines: true, ignoreTriggers: true },
  logger: () => {},
};
