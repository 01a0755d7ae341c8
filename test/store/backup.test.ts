import { generateKeyPairSync } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { aDataDir } from "../support/data-directory.ts";
import { commandsOf } from "../support/documents.ts";
import { freePort } from "../support/free-port.ts";
import { emptyPostgresDatabase, TEST_DATABASE_URL } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";
import { runAll } from "../support/shell.ts";

const BIN = join(import.meta.dirname, "../../bin");

async function aDatabase() {
  const database = await emptyPostgresDatabase(TEST_DATABASE_URL ?? expect.fail("TEST_DATABASE_URL is not set"));
  onTestFinished(() => database.drop());
  return database.url;
}

/** Commands of a section of docs/production.md against a database, in a folder. */
const perform = (section: string, url: string, dir: string) =>
  runAll(
    commandsOf("docs/production.md", section).map((line) => line.replace("npx countersign", join(BIN, "countersign"))),
    dir,
    { DATABASE_URL: url },
  );

const aKey = (): string => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }) as string;

test("the commands of docs/production.md bring a PostgreSQL database back, and forget a stolen key, which a new one alone does not", async () => {
  const dir = aDataDir();
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [original, restored] = [await aDatabase(), await aDatabase()];
  const env = { JWT_PRIVATE_KEY: aKey(), PORT: String(await freePort()) };
  const first = await startServer({ env: { ...env, DATABASE_URL: original } });
  const { web } = first.clients;
  const user = await first.signedInUser();
  const issued = await first.tokens(web, user.browser, { scope: "openid offline_access" });
  await perform("back-up-postgresql", original, dir);
  await first.revoke(web, issued.refresh_token);
  await first.close();

  await perform("restore-postgresql", restored, dir);
  const second = await startServer({ env: { ...env, DATABASE_URL: restored } });
  expect((await second.introspect(web, issued.access_token)).body).toMatchObject({ active: true, sub: user.id });
  const refreshed = await second.refresh(web, issued.refresh_token);
  expect(refreshed.status).toBe(200);
  await second.close();

  const renewed = { ...env, JWT_PRIVATE_KEY: aKey(), DATABASE_URL: restored };
  const unaware = await startServer({ env: renewed });
  expect((await unaware.introspect(web, refreshed.body.access_token)).body.active).toBe(true);
  expect((await unaware.refresh(web, refreshed.body.refresh_token)).status).toBe(503);
  await unaware.close();

  await perform("replace-a-stolen-key", restored, dir);
  const third = await startServer({ env: renewed });
  onTestFinished(() => third.close());
  expect((await third.introspect(web, refreshed.body.access_token)).body).toEqual({ active: false });
  expect((await third.get("/.well-known/jwks.json")).body.keys).toHaveLength(1);
  expect((await third.refresh(web, refreshed.body.refresh_token)).status).toBe(200);
});
