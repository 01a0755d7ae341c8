import { databaseFault, UNANSWERED } from "../../database-fault.ts";
import { type Finding, findingsAbout } from "./finding.ts";

const { ok, fault } = findingsAbout("Database at DATABASE_URL");

/** Checks that PostgreSQL is recent, and that its settings cannot lose an acknowledged revocation. Pure. */
export function databaseFindings(settings: Readonly<Record<string, string>>): readonly Finding[] {
  const durable = ["fsync", "full_page_writes", "synchronous_commit"].map((name) =>
    settings[name] !== "off" && settings[name] !== "local"
      ? ok(name, `PostgreSQL: ${name} is on`)
      : fault(name, `PostgreSQL: ${name} is ${settings[name]}: acknowledged changes may be lost in a crash`, `set ${name} = on`),
  );
  const recent = Number(settings.server_version_num ?? 0) >= 150_000;
  const version = recent
    ? ok("version", "PostgreSQL is 15 or newer")
    : fault("version", "PostgreSQL is older than 15", "upgrade PostgreSQL");
  return [...durable, version];
}

/** Connects to the database, and checks it. */
export async function checkDatabase(databaseUrl: string): Promise<readonly Finding[]> {
  try {
    return databaseFindings(await databaseSettings(databaseUrl));
  } catch (error) {
    const { what, remedy } = databaseFault(error) ?? UNANSWERED;
    return [fault("database", what, remedy)];
  }
}

async function databaseSettings(databaseUrl: string): Promise<Readonly<Record<string, string>>> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 2000 });
  client.on("error", () => undefined); // the query reports it
  await client.connect();
  const names = "'fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num'";
  const { rows } = await client.query(`select name, setting from pg_settings where name in (${names})`).finally(() => client.end());
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}
