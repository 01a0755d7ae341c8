import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CheckpointSigner,
  checkpointKey,
  GENESIS,
  type Link,
  linkAll,
  type SealedRecord,
  signCheckpoint,
} from "../../../src/audit-chain/chain.ts";
import { type ExportLine, headerLine, interleave } from "../../../src/audit-chain/export.ts";
import { type Verdict, verification } from "../../../src/audit-chain/verify.ts";

/** A key pair, with its thumbprint as kid. */
function aKey() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const jwk = { ...publicKey.export({ format: "jwk" }), use: "sig", alg: "EdDSA" };
  const kid = checkpointKey(jwk)?.kid ?? "";
  const signer: CheckpointSigner = { issuer: "https://id.example.test", kid, privateKey };
  return { kid, jwk: { ...jwk, kid }, signer };
}
const own = aKey();
const NOW = 1_795_000_000;

const aRecord = fc.record(
  {
    id: fc.uuid(),
    at: fc.integer({ min: 0, max: 2 ** 50 }),
    event: fc.constantFrom("token.issued", "token.refused", "session.started"),
    reason: fc.string({ unit: "binary" }),
    scope: fc.string(),
    act_chain: fc.array(fc.string(), { maxLength: 4 }),
  },
  { requiredKeys: ["id", "at", "event"] },
) as fc.Arbitrary<SealedRecord>;
const aTrail = fc.uniqueArray(aRecord, { minLength: 1, maxLength: 12, selector: ({ id }) => id });

/** An export of the records, with a checkpoint after every `every` records and after the last. */
function exported(records: readonly SealedRecord[], every = 3, { signer, jwk } = own, start: Link = GENESIS): ExportLine[] {
  const links = linkAll(start, records);
  const signed = links.filter(({ seq }, index) => seq % every === 0 || index === links.length - 1);
  const sealed = links.map((link, index) => ({ ...link, record: records[index] ?? {} }));
  return [
    headerLine(start),
    { type: "key", jwk },
    ...interleave(
      sealed,
      signed.map((link) => signCheckpoint(link, NOW, signer)),
    ),
  ];
}

function verdictOf(lines: readonly unknown[], trusted?: ReadonlySet<string>): Verdict {
  const verifying = verification(trusted);
  for (const line of lines) verifying.take(typeof line === "string" ? line : JSON.stringify(line));
  return verifying.end();
}
const faultOf = (lines: readonly unknown[], trusted?: ReadonlySet<string>) => {
  const verdict = verdictOf(lines, trusted);
  return verdict.kind === "unsound" ? verdict.fault : undefined;
};
const positions = (lines: readonly ExportLine[], type: ExportLine["type"]) =>
  lines.flatMap((line, index) => (line.type === type ? [index] : []));

describe("an unchanged export", () => {
  test("is sound with any records and any checkpoints", () => {
    fc.assert(
      fc.property(aTrail, fc.integer({ min: 1, max: 5 }), (records, every) => {
        const verdict = verdictOf(exported(records, every), new Set([own.kid]));
        const last = records.length;
        expect(verdict).toMatchObject({ kind: "sound", proof: { first: 1, last, records: last, signedTo: last, anchored: true } });
      }),
    );
  });

  test("reports how far it is signed, and whether its start is anchored by a checkpoint", () => {
    const records = [{ id: "a" }, { id: "b" }, { id: "c" }, { id: "d" }];
    const lines = exported(records, 2);
    expect(verdictOf(lines.slice(0, -1))).toMatchObject({ kind: "sound", proof: { last: 4, signedTo: 2, checkpoints: 1 } });
    const [, second] = linkAll(GENESIS, records);
    if (second === undefined) throw new Error("there are four");
    const [header, key, ...rest] = exported(records.slice(2), 2, own, second);
    expect(verdictOf([header, key, ...rest])).toMatchObject({ kind: "sound", proof: { first: 3, last: 4, anchored: false } });
    const anchor = { type: "checkpoint", ...signCheckpoint(second, NOW, own.signer) };
    expect(verdictOf([header, key, anchor, ...rest])).toMatchObject({ kind: "sound", proof: { first: 3, anchored: true } });
  });
});

describe("detects", () => {
  test("an altered member of any record, and names the record", () => {
    fc.assert(
      fc.property(aTrail, fc.nat(), fc.constantFrom("event", "at", "reason", "added"), (records, nth, member) => {
        const lines = exported(records);
        const at = positions(lines, "record")[nth % records.length] ?? 0;
        const line = lines[at];
        if (line?.type !== "record") throw new Error("a record was asked for");
        const was = line.record[member];
        lines[at] = { ...line, record: { ...line.record, [member]: typeof was === "number" ? was + 1 : `${String(was)}x` } };
        expect(faultOf(lines)).toMatchObject({ kind: "record_altered", seq: line.seq, recordId: line.record.id });
      }),
    );
  });

  test("a removed record", () => {
    fc.assert(
      fc.property(aTrail, fc.nat(), (records, nth) => {
        const lines = exported(records);
        const seq = (nth % records.length) + 1;
        lines.splice(positions(lines, "record")[seq - 1] ?? 0, 1);
        expect(faultOf(lines)).toMatchObject({ kind: "record_missing", seq });
      }),
    );
  });

  test("two swapped records, with or without their numbers", () => {
    fc.assert(
      fc.property(aTrail, fc.nat(), fc.nat(), fc.boolean(), (records, one, other, renumbered) => {
        const [a, b] = [one % records.length, other % records.length].sort((x, y) => x - y);
        fc.pre(a !== b && a !== undefined && b !== undefined);
        const lines = exported(records);
        const at = positions(lines, "record");
        const [first, second] = [lines[at[a as number] ?? 0], lines[at[b as number] ?? 0]];
        if (first?.type !== "record" || second?.type !== "record") throw new Error("records were asked for");
        lines[at[a as number] ?? 0] = renumbered ? { ...second, seq: first.seq } : second;
        lines[at[b as number] ?? 0] = renumbered ? { ...first, seq: second.seq } : first;
        expect(faultOf(lines)?.seq).toBe((a as number) + 1);
      }),
    );
  });

  test("a repeated record", () => {
    fc.assert(
      fc.property(aTrail, fc.nat(), (records, nth) => {
        const lines = exported(records);
        const at = positions(lines, "record")[nth % records.length] ?? 0;
        lines.splice(at, 0, lines[at] as ExportLine);
        expect(faultOf(lines)?.kind).toBe("record_out_of_order");
      }),
    );
  });

  test("records removed before a checkpoint", () => {
    fc.assert(
      fc.property(aTrail, fc.nat(), (records, kept) => {
        const lines = exported(records, 100);
        const checkpoint = lines.at(-1) as ExportLine;
        const left = kept % records.length;
        expect(faultOf([...lines.slice(0, 2 + left), checkpoint])).toMatchObject({ kind: "record_missing", seq: left + 1 });
      }),
    );
  });

  test("a rewritten history with consistent hashes, by its checkpoints", () => {
    fc.assert(
      fc.property(aTrail, fc.nat(), (records, nth) => {
        const at = nth % records.length;
        const rewritten = records.map((record, index) => (index === at ? { ...record, event: "client.deleted" } : record));
        const signedBefore = exported(records).filter(({ type }) => type === "checkpoint");
        const lines = exported(rewritten).map((line) => (line.type === "checkpoint" ? (signedBefore.shift() as ExportLine) : line));
        const fault = faultOf(lines);
        expect(fault?.kind).toBe("checkpoint_contradicts");
        expect(fault?.seq).toBeLessThanOrEqual(at + 1);
      }),
    );
  });

  test("a history signed by another key, when the trusted key is given", () => {
    const forger = aKey();
    const lines = exported([{ id: "a" }], 1, forger);
    expect(faultOf(lines)).toBeUndefined();
    expect(faultOf(lines, new Set([own.kid]))).toMatchObject({ kind: "key_untrusted", seq: 1 });
    // A kid is computed from the key, so that a forger cannot use another's.
    const borrowed = exported([{ id: "a" }], 1, { ...forger, jwk: { ...forger.jwk, kid: own.kid } });
    expect(faultOf(borrowed, new Set([own.kid]))).toMatchObject({ kind: "key_untrusted" });
  });

  const one = () => exported([{ id: "a" }, { id: "b" }], 1);
  const cases: readonly [string, readonly unknown[], string][] = [
    ["records without a checkpoint", one().filter(({ type }) => type !== "checkpoint"), "unsigned"],
    ["another start", [{ ...headerLine(GENESIS), previous: "A".repeat(43) }, ...one().slice(1)], "record_altered"],
    ["a start with a later number", [headerLine({ ...GENESIS, seq: 1 }), ...one().slice(1)], "record_altered"],
    ["a line that is not JSON", [...one().slice(0, 3), "{", ...one().slice(3)], "malformed"],
    ["an unknown member", [{ ...one()[0], more: 1 }, ...one().slice(1)], "malformed"],
    [
      "a repeated member",
      one().map((line) => (line.type === "record" ? JSON.stringify(line).replace('"id":', '"id":"z","id":') : line)),
      "malformed",
    ],
    [
      "a __proto__ member",
      one().map((line) => (line.type === "record" ? JSON.stringify(line).replace('"id":', '"__proto__":"z","id":') : line)),
      "record_altered",
    ],
    ["two headers", [...one(), headerLine(GENESIS)], "malformed"],
    ["no header", one().slice(1), "malformed"],
    ["an empty export", [], "malformed"],
    [
      "a checkpoint with a wrong signature",
      one().map((line) => (line.type === "checkpoint" ? { ...line, jws: `${line.jws.slice(0, -8)}AAAAAAAA` } : line)),
      "checkpoint_forged",
    ],
    [
      "an access token in place of a checkpoint",
      one().map((line) =>
        line.type === "checkpoint" ? { ...line, jws: `${typ("at+jwt")}.${line.jws.split(".").slice(1).join(".")}` } : line,
      ),
      "checkpoint_forged",
    ],
  ];
  test.for(cases)("%s", ([, lines, kind]) => {
    expect(faultOf(lines)?.kind).toBe(kind);
  });
});

function typ(type: string): string {
  return Buffer.from(JSON.stringify({ alg: "EdDSA", typ: type, kid: own.kid })).toString("base64url");
}
