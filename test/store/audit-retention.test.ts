import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CheckpointSigner, checkpointKey } from "../../src/audit-chain/chain.ts";
import { type ExportSource, exportLines } from "../../src/audit-chain/export.ts";
import { verification } from "../../src/audit-chain/verify.ts";
import { archive } from "../../src/compose/housekeeping.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditPartitions } from "../../src/store/audit-partitions.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { auditTrail } from "../../src/store/audit-trail.ts";
import { keyRegister, publishedKeys } from "../../src/store/key-register.ts";
import type { Database } from "../../src/store/orm.ts";
import type { Sql } from "../../src/store/sql.ts";
import { sweep } from "../../src/store/sweep.ts";
import { anAudit } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const kid = checkpointKey(publicKey.export({ format: "jwk" }))?.kid ?? "";
const jwk = { ...publicKey.export({ format: "jwk" }), kid, alg: "EdDSA", use: "sig" };
const signer: CheckpointSigner = { issuer: "https://id.example.test", kid, privateKey };

describe.for(databaseKinds)("the retention of audit records on $name", ({ fresh }) => {
  let database: Database;
  let sql: Sql;
  let folder: string;
  beforeAll(async () => {
    database = await fresh();
    sql = database.sql;
    folder = join(mkdtempSync(join(tmpdir(), "countersign-archive-")), "made");
    await keyRegister(sql, 60).publish([jwk as Parameters<ReturnType<typeof keyRegister>["publish"]>[0][number]], [kid]);
  });
  afterAll(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const seal = async () => {
    while ((await auditSealer(sql, signer).seal()) > 0 || (await auditTrail(sql).chain()).waiting > 0);
  };
  /** As if all checkpoints so far had been signed so many days ago. */
  const age = async (days: number) => {
    await runText(sql, "alter table audit_checkpoints disable trigger user");
    await runText(sql, `update audit_checkpoints set at = now() - interval '${days} days'`);
    await runText(sql, "alter table audit_checkpoints enable trigger user");
  };
  /** Writes records, and a checkpoint that signs the last of them. @returns its number */
  const write = async (count: number): Promise<number> => {
    await age(9);
    const log = auditLog(sql);
    await Promise.all(Array.from({ length: count }, () => log.record(anAudit("token.refused"))));
    await seal();
    await age(9);
    await seal();
    await age(9);
    return (await auditTrail(sql).chain()).signed?.seq ?? 0;
  };
  const kept = () =>
    runText<{ seq: number | null }>(sql, "select seq::float8 as seq from audit_records left join audit_links using (id) order by seq");
  const prove = (lines: readonly string[]) => {
    const verifying = verification(new Set([kid]));
    for (const line of lines) verifying.take(line);
    return verifying.end();
  };
  const files = () => readdirSync(folder).sort();
  const linesOf = (name: string) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
  async function exported(): Promise<readonly string[]> {
    const { start } = await auditTrail(sql).chain();
    const source = { keys: () => publishedKeys(sql, 60).all(), part: auditTrail(sql).part as ExportSource["part"] };
    const lines: string[] = [];
    for await (const line of exportLines(source, start)) lines.push(line);
    return lines;
  }
  const keeping = (days: number, streamed = false) => archive(sql, { days, folder, streamed });

  test("nothing is removed before its time, or before AUDIT_STREAM has got it", async () => {
    await write(120);
    expect([await keeping(10), await keeping(8, true)]).toEqual([0, 0]);
    await runText(sql, "update audit_stream set seq = 10");
    expect(await keeping(8, true)).toBe(0);
    expect((await auditTrail(sql).chain()).start).toBe(0);
    await expect(runText(sql, "delete from audit_records where id = (select id from audit_links where seq = 1)")).rejects.toMatchObject({
      code: "23001",
    });
  });

  test("a folder that cannot be written is a fault before there is anything to archive", async () => {
    await expect(archive(sql, { days: 9_999, folder: join(import.meta.filename, "below"), streamed: false })).rejects.toThrow("ENOTDIR");
  });

  test("old records are exported and removed, and archive and trail are each sound and follow each other", async () => {
    const signed = (await auditTrail(sql).chain()).signed?.seq ?? 0;
    await Promise.all([keeping(8), keeping(8)]); // two processes at once
    expect((await auditTrail(sql).chain()).start).toBe(signed);
    const [first = ""] = files();
    expect(files()).toEqual([expect.stringMatching(/^audit-000000000001-\d{12}\.ndjson$/)]);
    expect(statSync(join(folder, first)).mode & 0o777).toBe(0o600);
    expect(prove(linesOf(first))).toMatchObject({ kind: "sound", proof: { first: 1, last: signed, signedTo: signed, anchored: true } });

    await sweep(sql);
    await write(700);
    const rest = await kept();
    expect(rest[0]).toEqual({ seq: signed });
    expect(prove(await exported())).toMatchObject({ kind: "sound", proof: { first: signed + 1, anchored: true } });
    const header = JSON.parse((await exported())[0] ?? "");
    const last = linesOf(first).findLast((line) => line.startsWith('{"type":"record"'));
    expect(header).toMatchObject({ after: signed, previous: JSON.parse(last ?? "").hash });
    expect(await runText(sql, "select resources from audit_records where event = 'audit.archived'")).toEqual([
      { resources: [`audit:1-${signed}`] },
    ]);
  });

  test("the next archive begins where the last one ended", async () => {
    await keeping(8);
    await sweep(sql);
    const [first, second = ""] = files();
    expect(second.slice(6, 18)).toBe(String(Number(first?.slice(19, 31)) + 1).padStart(12, "0"));
    expect(prove(linesOf(second))).toMatchObject({ kind: "sound", proof: { anchored: true } });
    expect(prove(await exported())).toMatchObject({ kind: "sound" });
  });

  test("records stay while a file of the archive has their name and holds something else", async () => {
    const until = await write(5);
    const { start } = await auditTrail(sql).chain();
    const name = `audit-${String(start + 1).padStart(12, "0")}-${String(until).padStart(12, "0")}.ndjson`;
    writeFileSync(join(folder, name), "of another database\n");
    await expect(keeping(8)).rejects.toThrow("has other records");
    expect((await auditTrail(sql).chain()).start).toBe(start);
    rmSync(join(folder, name));
    expect(await keeping(8)).toBe(until - start);
  });

  test("of several processes one archives and removes each record, and the trail verifies in each", async () => {
    await write(60);
    const execute = async (text: string) => (await database.orm()).em.getConnection().execute(text);
    const processes = Array.from({ length: 3 }, () => auditPartitions(sql, execute));
    const before = files().length;
    const archived = await Promise.all(
      processes.map(async (partitions) => {
        await partitions.extend(8);
        const records = await keeping(8);
        await Promise.all([partitions.drop(), sweep(sql)]);
        return records;
      }),
    );
    expect(archived.filter((records) => records > 0)).toHaveLength(1);
    expect(files()).toHaveLength(before + 1);
    expect(prove(linesOf(files().at(-1) ?? ""))).toMatchObject({ kind: "sound", proof: { anchored: true } });
    const { start } = await auditTrail(sql).chain();
    for (const verdict of await Promise.all(processes.map(async () => prove(await exported()))))
      expect(verdict).toMatchObject({ kind: "sound", proof: { first: start + 1, anchored: true } });
    expect((await kept())[0]).toEqual({ seq: start });
  });

  test.for(["audit_link_at", "audit_part_checkpoints", "audit_part"])(
    "a process that is overtaken before %s archives nothing, and that is no fault",
    async (name) => {
      await write(60);
      const before = files().length;
      let overtaken = 0;
      const slow: Sql = {
        ...sql,
        query: async (statement, parameters) => {
          if (statement.name === name && overtaken === 0) {
            overtaken = await keeping(8);
            await sweep(sql);
          }
          return sql.query(statement, parameters);
        },
      };
      expect(await archive(slow, { days: 8, folder, streamed: false })).toBe(0);
      expect([overtaken > 0, files().length]).toEqual([true, before + 1]);
    },
  );

  test("what cannot be proved stays", async () => {
    const [signed, { start }] = [await write(60), await auditTrail(sql).chain()];
    await runText(sql, "alter table audit_records disable trigger user");
    await runText(sql, `update audit_records set reason = 'another' where id = (select id from audit_links where seq = ${signed - 3})`);
    await runText(sql, "alter table audit_records enable trigger user");
    const before = files();
    await expect(keeping(8)).rejects.toThrow("cannot be proved");
    expect([files(), (await auditTrail(sql).chain()).start]).toEqual([before, start]);
  });

  test("rejects an earlier start, one that is not signed, and the removal of what is kept", async () => {
    const { start } = await auditTrail(sql).chain();
    for (const text of [
      "update audit_start set seq = 1",
      `update audit_start set seq = ${start + 1_000_000}`,
      "delete from audit_start",
      `delete from audit_records where id = (select id from audit_links where seq = ${start})`,
      "delete from audit_records",
      `delete from audit_links where seq = ${start}`,
      `delete from audit_checkpoints where seq = ${start}`,
    ])
      await expect(runText(sql, text), text).rejects.toMatchObject({ code: "23001" });
  });
});
