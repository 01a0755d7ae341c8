import { rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { blocksOf, commandsOf, filled } from "../support/documents.ts";
import { freePort } from "../support/free-port.ts";
import { aCluster } from "../support/postgres-cluster.ts";
import { endProcesses, until } from "../support/processes.ts";
import { startServer } from "../support/server.ts";

const DOCUMENT = "docs/production.md";
const BACKUPS = "/var/backups/countersign";

afterAll(endProcesses);

async function only<Value>(url: string, text: string): Promise<Value> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client
    .query(text)
    .then(({ rows }) => Object.values(rows[0])[0] as Value)
    .finally(() => client.end());
}

test("the commands of docs/production.md lead back to the moment before a mistake by the base and the archived log alone, and later to the end of the log", {
  timeout: 120_000,
}, async () => {
  const settings = blocksOf(DOCUMENT).find(({ name }) => name === "archive.conf")?.code ?? expect.fail("no archive.conf");
  const cluster = await aCluster((dir) => filled(settings, { [BACKUPS]: dir }));
  onTestFinished(() => cluster.stop());
  const { url } = cluster;
  const env = { DATABASE_URL: url, PORT: String(await freePort()) };
  const first = await startServer({ env });
  const { web } = first.clients;
  const { browser } = await first.signedInUser();
  const perform = (section: string, given: Record<string, string> = {}, commands = commandsOf(DOCUMENT, section)) =>
    cluster.run(commands, { DATABASE_URL: url, BACKUPS: cluster.dir, ...given });
  const loseDatabase = async () => {
    const segment = await only<string>(url, "select pg_walfile_name(pg_switch_wal())");
    await until("the segment is archived", () => only<boolean>(url, `select last_archived_wal >= '${segment}' from pg_stat_archiver`));
    cluster.stop();
    rmSync(cluster.data, { recursive: true });
  };
  perform("archive-the-write-ahead-log");
  const issued = await first.tokens(web, browser, { scope: "openid offline_access" });
  const moment = await only<string>(url, "select clock_timestamp()::text");
  await first.revoke(web, issued.refresh_token);
  const lastRecord = () => only<string>(url, "select max(seq)::text from audit_links");
  await until("the revocation is sealed", () => only<boolean>(url, "select count(*) = 0 from audit_links where seq is null"));
  const before = Number(await lastRecord());
  await first.close();
  await loseDatabase();

  perform("recover-to-a-point-in-time", { MOMENT: moment });
  const second = await startServer({ env });
  expect(Number(await lastRecord())).toBeLessThan(before);
  expect((await second.introspect(web, issued.access_token)).body.active).toBe(true);
  expect((await second.refresh(web, issued.refresh_token)).status).toBe(200);
  await second.close();

  // What was recovered once is backed up and lost in turn, and all of it is recovered.
  rmSync(join(cluster.dir, "base"), { recursive: true });
  perform("archive-the-write-ahead-log");
  await only(url, "select lo_create(4711)");
  await loseDatabase();
  const everything = commandsOf(DOCUMENT, "recover-to-a-point-in-time").filter((command) => !command.includes("$MOMENT"));
  perform("recover-to-a-point-in-time", {}, everything);
  expect(await only(url, "select count(*)::int from pg_largeobject_metadata where oid = 4711")).toBe(1);
});
