import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { assertOwn, lockDirectory } from "../../src/store/directory-lock.ts";
import { openDatabase } from "../../src/store/orm.ts";
import { statement } from "../../src/store/sql.ts";
import { aUser } from "../support/accounts.ts";
import { freshDataDir } from "../support/data-directory.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "countersign-test-dir-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const countUsers = statement("test_count_users", "select count(*)::int as n from users");

test("data is kept when the directory is opened again", async () => {
  const data = await freshDataDir();
  const first = await openDatabase({ dir: data });
  await aUser(first.sql);
  await first.close();
  const second = await openDatabase({ dir: data, migrate: false });
  expect(await second.sql.query(countUsers, [])).toEqual([{ n: 1 }]);
  await second.close();
  rmSync(data, { recursive: true, force: true });
});

test("creates a missing directory with mode 0700, and repeats a first start that was interrupted", { timeout: 120_000 }, async () => {
  const data = join(dir, "below", "data");
  await (await openDatabase({ dir: data })).close();
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(statSync(join(data, "pg")).mode & 0o777).toBe(0o700);
  writeFileSync(join(data, "pg.beginning"), "");
  rmSync(join(data, "pg", "PG_VERSION"));
  const again = await openDatabase({ dir: data });
  expect(await again.sql.query(countUsers, [])).toEqual([{ n: 0 }]);
  await again.close();
});

// A process begins with the peak of the one that started it (`maxRSS`); Linux knows that of its own memory too.
if (process.platform === "linux")
  test("parsing without end takes less than 600 MB of memory", () => {
    const { stdout, stderr } = spawnSync(process.execPath, [
      "--wasm-sync-tier-up", // what V8 would optimise some time it optimises at once
      "--conditions=countersign",
      "--input-type=module",
      "-e",
      `import { readFileSync } from "node:fs";
     import { embeddedDatabase } from ${JSON.stringify(new URL("../../src/store/embedded.ts", import.meta.url).href)};
     const { pglite, close } = await embeddedDatabase(${JSON.stringify(join(dir, "data"))});
     for (let n = 0; n < 6; n++) await pglite.exec("select 1" + "+1".repeat(3000));
     await close();
     console.log(/^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))[1] / 1024);`,
    ]);
    expect(Number(stdout.toString()), stderr.toString()).toBeGreaterThan(0);
    expect(Number(stdout.toString())).toBeLessThan(600);
  });

test("a second process is refused with the id of the process that uses the directory, and the first continues", async () => {
  const data = await freshDataDir();
  const first = await openDatabase({ dir: data });
  await expect(openDatabase({ dir: data })).rejects.toThrow(`in use by process ${process.pid}`);
  await aUser(first.sql);
  expect(await first.sql.query(countUsers, [])).toEqual([{ n: 1 }]);
  await first.close();
  await (await openDatabase({ dir: data })).close();
  rmSync(data, { recursive: true, force: true });
});

test("a database whose directory was replaced writes nothing more when it is closed", async () => {
  const data = await freshDataDir();
  const [backup, moved] = [`${data}.backup`, `${data}.moved`];
  await (await openDatabase({ dir: data })).close();
  cpSync(data, backup, { recursive: true });
  const first = await openDatabase({ dir: data });
  await aUser(first.sql);
  renameSync(data, moved);
  renameSync(backup, data);
  await expect(first.close()).rejects.toThrow(expect.objectContaining({ name: "DirectoryReplaced" }));
  const restored = await openDatabase({ dir: data });
  expect(await restored.sql.query(countUsers, [])).toEqual([{ n: 0 }]);
  await restored.close();
  for (const each of [data, moved]) rmSync(each, { recursive: true, force: true });
});

test("the lock of a killed process is released", async () => {
  const holder = spawn(process.execPath, [
    "--input-type=module",
    "-e",
    `import { lockDirectory } from ${JSON.stringify(new URL("../../src/store/directory-lock.ts", import.meta.url).href)};
     lockDirectory(${JSON.stringify(dir)}); console.log("held"); setInterval(() => {}, 1000);`,
  ]);
  await once(holder.stdout, "data");
  expect(() => lockDirectory(dir)).toThrow(`in use by process ${holder.pid}`);
  holder.kill("SIGKILL");
  await once(holder, "exit");
  const lock = lockDirectory(dir);
  expect(readFileSync(join(dir, "owner.pid"), "utf8")).toBe(`${process.pid}\n`);
  lock.close();
});

test("a data directory in which another user may not make files is refused by its own name, not by that of the lock", () => {
  const dir = mkdtempSync(join(tmpdir(), "countersign-read-only-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  chmodSync(dir, 0o555);
  const program = `const { lockDirectory } = await import(${JSON.stringify(new URL("../../src/store/directory-lock.ts", import.meta.url).href)});
    if (process.getuid() === 0) process.setuid(65_534); // root may make files everywhere
    try { lockDirectory(${JSON.stringify(dir)}); } catch ({ code }) { console.log(code); }`;
  expect(spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }).stdout).toBe("EACCES\n");
});

describe("damaged files are named and left unchanged", () => {
  const damagedStart = async (damage: (dir: string) => void): Promise<string> => {
    const dir = await freshDataDir();
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    damage(dir);
    return openDatabase({ dir }).then(
      () => "opened",
      (error: Error) => error.message.replaceAll(dir, "DIR"),
    );
  };

  test("a damaged lock file", async () => {
    const message = await damagedStart((dir) =>
      writeFileSync(join(dir, "owner.lock"), "no database at all, and longer than a header of SQLite".repeat(9)),
    );
    expect(message).toBe("DATA_DIR: DIR/owner.lock is damaged; see that no server uses the directory, delete this file, and start again.");
  });

  test("no damaged lock file, but a disk without room, where none can be made beside it", async () => {
    const message = await damagedStart((dir) => {
      rmSync(join(dir, "owner.lock"), { force: true });
      mkdirSync(join(dir, "owner.lock-journal"));
    });
    expect(message).toBe("DATA_DIR: DIR/owner.lock cannot be locked; see that its disk has room, and that files can be made beside it.");
  });

  test("a directory in place of the lock file", async () => {
    const message = await damagedStart((dir) => {
      rmSync(join(dir, "owner.lock"), { force: true });
      mkdirSync(join(dir, "owner.lock"));
    });
    expect(message).toMatch(/^DATA_DIR: DIR\/owner\.lock cannot be opened; it has to be a file/);
  });

  test("damaged database files", async () => {
    const names = "DATA_DIR: the database files under DIR/pg are damaged and were left as they are; restore the directory from a backup";
    expect(await damagedStart((dir) => rmSync(join(dir, "pg/PG_VERSION")))).toContain(names);
    expect(await damagedStart((dir) => writeFileSync(join(dir, "pg/global/pg_control"), "x".repeat(8192)))).toContain(names);
  });
});

test.for(["pg", "pg/base", "pg/global/pg_control"])("%s of another user is no damaged database", async (closed) => {
  const dir = await freshDataDir();
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  chmodSync(join(dir, closed), 0);
  if (process.getuid?.() === 0) execFileSync("chown", ["-R", "65534", dir]); // root may read everything
  const program = `const { openDatabase } = await import(${JSON.stringify(new URL("../../src/store/orm.ts", import.meta.url).href)});
    if (process.getuid() === 0) process.setuid(65_534);
    await openDatabase({ dir: ${JSON.stringify(dir)} }).catch(({ message }) => console.log(message));`;
  expect(
    spawnSync(process.execPath, ["--conditions=countersign", "--input-type=module", "--eval", program], { encoding: "utf8" }).stdout,
  ).toBe(
    `DATA_DIR: ${join(dir, closed)} may not be read and written by this user; give it to this user (chown -R), or start as its owner.\n`,
  );
});

test("a file that is missing says nothing about owners", () => {
  symlinkSync("nowhere", join(dir, "dangling"));
  expect(() => assertOwn(dir)).not.toThrow();
});
