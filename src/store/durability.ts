import { statement, type Tx } from "./sql.ts";

const READ_SETTINGS = statement(
  "durability_settings",
  `select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num')`,
);

/** The settings of PostgreSQL that decide whether an acknowledged change survives a crash, and its version, by name. */
export async function durabilitySettings(sql: Tx): Promise<Readonly<Record<string, string>>> {
  const rows = await sql.query<{ name: string; setting: string }>(READ_SETTINGS, []);
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}
