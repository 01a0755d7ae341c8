import { generateKeyPairSync } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type CheckpointSigner, checkpointKey, GENESIS } from "../../src/audit-chain/chain.ts";
import { type ExportLine, headerLine, interleave } from "../../src/audit-chain/export.ts";
import { verification } from "../../src/audit-chain/verify.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { auditTrail } from "../../src/store/audit-trail.ts";
import type { Sql } from "../../src/store/sql.ts";
import { anAudit, anId } from "../support/accounts.ts";
import { databaseKinds, runText, sharedDatabase } from "../support/database.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const jwk = publicKey.export({ format: "jwk" });
const signer: CheckpointSigner = { issuer: "https://id.example.test", kid: checkpointKey(jwk)?.kid ?? "", privateKey };

describe.for(databaseKinds)("the audit chain on $name", ({ fresh }) => {
  const database = sharedDatabase(fresh);
  let sql: Sql;
  beforeAll(() => {
    sql = database().sql;
  });
  beforeEach(() => sealAll());

  /** Also waits for the lock of a crashed sealer, which PostgreSQL releases once it notices the closed connection. */
  const sealAll = async (): Promise<void> => {
    while ((await auditSealer(sql, signer).seal()) > 0 || (await auditTrail(sql).chain()).waiting > 0);
  };
  /** Makes the next checkpoint due. */
  const ageCheckpoints = async (): Promise<void> => {
    await runText(sql, "alter table audit_checkpoints disable trigger user");
    await runText(sql, "update audit_checkpoints set at = now() - interval '1 minute'");
    await runText(sql, "alter table audit_checkpoints enable trigger user");
  };
  const write = (count: number, requestId = anId()) => {
    const log = auditLog(sql);
    return Promise.all(Array.from({ length: count }, () => log.record(anAudit("token.refused", { requestId, scope: "a\0b \u{1f600}" }))));
  };
  /** The whole audit trail, as `countersign audit export` reads it. */
  async function exported(limit = 1_000, after = 0): Promise<readonly ExportLine[]> {
    const lines: ExportLine[] = [];
    for (let from = after; ; ) {
      const { start, records, checkpoints } = await auditTrail(sql).part(limit, from);
      if (lines.length === 0) lines.push(headerLine(start ?? GENESIS), { type: "key", jwk });
      lines.push(...interleave(records, from === after ? checkpoints : checkpoints.filter(({ seq }) => seq > from)));
      if (records.length < limit) return lines;
      from = records.at(-1)?.seq ?? from;
    }
  }
  async function verdict(limit?: number, after?: number) {
    const verifying = verification(new Set([signer.kid]));
    for (const line of await exported(limit, after)) verifying.take(JSON.stringify(line));
    return verifying.end();
  }
  const head = async () => (await auditTrail(sql).chain()).head?.seq ?? 0;

  test("sealing numbers the records in order and without gaps, and the exported chain verifies", async () => {
    const before = await head();
    await write(450);
    expect((await auditTrail(sql).chain()).waiting).toBe(450);
    expect(await auditSealer(sql, signer).seal()).toBe(450);
    expect(await auditTrail(sql).chain()).toMatchObject({ head: { seq: before + 450 }, waiting: 0 });
    const [order] = await runText<{ good: boolean }>(
      sql,
      "select bool_and(id > before) as good from (select id, lag(id) over (order by seq) as before from audit_links where seq > 1) as r where before is not null",
    );
    expect(order).toEqual({ good: true });
    expect(await verdict()).toMatchObject({ kind: "sound", proof: { last: before + 450, anchored: true } });
    expect(await verdict(7)).toEqual(await verdict());
  });

  test("eight concurrent sealers build one chain while records are written", async () => {
    const before = await head();
    const writing = write(300).then(() => write(300));
    const sealers = Array.from({ length: 8 }, (_, n) => auditSealer(sql, n % 2 === 0 ? signer : undefined));
    for (let round = 0; round < 6; round++) await Promise.all(sealers.map((sealer) => sealer.seal()));
    await writing;
    await sealAll();
    const numbers = await runText<{ seq: number }>(sql, "select seq::float8 as seq from audit_links order by audit_links.seq");
    expect(numbers.map(({ seq }) => seq)).toEqual(Array.from({ length: before + 600 }, (_, index) => index + 1));
    expect(await verdict()).toMatchObject({ kind: "sound", proof: { last: before + 600 } });
  });

  test("a sealer continues the chain of a process that crashed between two batches", async () => {
    const before = await head();
    await write(500);
    let batches = 0;
    const dying: Sql = {
      ...sql,
      transaction: (work) =>
        sql.transaction(async (tx) => {
          const result = await work(tx);
          batches += 1;
          if (batches === 2) throw new Error("power failure");
          return result;
        }),
    };
    await expect(auditSealer(dying, signer).seal()).rejects.toThrow("power failure");
    expect(await auditTrail(sql).chain()).toMatchObject({ head: { seq: before + 50 }, waiting: 450 });
    await sealAll();
    expect(await verdict()).toMatchObject({ kind: "sound", proof: { last: before + 500 } });
  });

  test("a process without keys seals records, and a process with keys signs them later", async () => {
    await write(3);
    await ageCheckpoints();
    expect(await auditSealer(sql, undefined).seal()).toBe(3);
    const left = await auditTrail(sql).chain();
    expect(left.signed?.seq ?? 0).toBeLessThan(left.head?.seq ?? 0);
    expect(await auditSealer(sql, signer).seal()).toBe(0);
    expect((await auditTrail(sql).chain()).signed?.seq).toBe(left.head?.seq);
  });

  test("a part of the chain verifies from a checkpoint onwards", async () => {
    await write(5);
    await sealAll();
    const [checkpoint] = (await auditTrail(sql).part(1, 0)).checkpoints;
    const after = checkpoint?.seq ?? 0;
    expect(await verdict(1_000, after)).toMatchObject({ kind: "sound", proof: { first: after + 1, anchored: true } });
    expect((await auditTrail(sql).part(10, 1_000_000)).start).toBeUndefined();
  });

  test("a follower reads each record exactly once, across pages", async () => {
    const requestId = anId();
    let reached = await head();
    const seen: string[] = [];
    for (let round = 0; round < 5; round++) {
      await Promise.all([write(4, requestId), write(3), auditSealer(sql, signer).seal()]);
      const page = await auditTrail(sql).follow({ requestId }, 3, reached);
      seen.push(...page.items.map(({ id }) => id));
      reached = page.reached;
    }
    await sealAll();
    for (let size = 3; size === 3; ) {
      const page = await auditTrail(sql).follow({ requestId }, 3, reached);
      size = page.items.length;
      seen.push(...page.items.map(({ id }) => id));
      reached = page.reached;
    }
    expect([seen.length, new Set(seen).size, reached]).toEqual([20, 20, await head()]);
    const listed = (await auditTrail(sql).list({ requestId }, { limit: 50 })).items;
    expect(listed.every(({ link }) => link !== null)).toBe(true);
    expect((await auditTrail(sql).follow({}, 3, 1_000_000)).reached).toBe(1_000_000);
  });

  describe("sealed records and checkpoints are immutable", () => {
    const forbidden: readonly string[] = [
      "update audit_records set reason = 'x'",
      "update audit_links set seq = seq + 100000, hash = hash",
      "update audit_links set seq = null, hash = null",
      "delete from audit_records",
      "delete from audit_links",
      "truncate audit_records",
      "truncate audit_links",
      "update audit_checkpoints set jws = 'x'",
      "delete from audit_checkpoints",
    ];
    test.for(forbidden)('rejects "%s"', async (text) => {
      await write(1);
      await sealAll();
      await expect(runText(sql, text)).rejects.toMatchObject({ code: "23001" });
    });

    test.for([
      "update audit_records set reason = 'x'",
      "update audit_links set seq = 1000000, hash = '\\x00', id = gen_random_uuid() where seq is null",
      "delete from audit_links where seq is null",
    ])('rejects "%s" also before records are sealed', async (text) => {
      await write(1);
      await expect(runText(sql, text)).rejects.toMatchObject({ code: "23001" });
    });
  });

  // Last, because it leaves a gap in the chain.
  test("deleting the newest records with the triggers disabled is detected, and their numbers are not reused", async () => {
    await write(2);
    await sealAll();
    await ageCheckpoints();
    await sealAll();
    const last = await head();
    for (const table of ["audit_records", "audit_links"]) {
      await runText(sql, `alter table ${table} disable trigger user`);
      const removed = table === "audit_links" ? `seq > ${last - 2}` : `id in (select id from audit_links where seq > ${last - 2})`;
      await runText(sql, `delete from ${table} where ${removed}`);
      await runText(sql, `alter table ${table} enable trigger user`);
    }
    expect(await verdict()).toMatchObject({ kind: "unsound", fault: { kind: "record_missing", seq: last - 1 } });
    await write(1);
    await sealAll();
    expect(await head()).toBe(last + 1);
    expect(await verdict()).toMatchObject({ kind: "unsound", fault: { kind: "record_missing", seq: last - 1 } });
  });
});
