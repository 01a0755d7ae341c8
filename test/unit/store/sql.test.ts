import { expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { asRefusedBy, leavesConnection, mayBeRepeated } from "../../../src/store/availability.ts";
import { isStorable, jsonRows } from "../../../src/store/sql.ts";
import { types } from "../../../src/store/sql-postgres.ts";

const databaseError = (code: string, severity = "ERROR") => Object.assign(new Error("from the server"), { code, severity });

test.for([
  ["plain", true],
  ["", true],
  ["\0", false],
  ["a\0b", false],
  ["\ud800", false],
  ["\u{1f600}", true],
] as const)("%j can be stored: %s", ([text, storable]) => {
  expect(isStorable(text)).toBe(storable);
});

test("jsonb rows contain neither NUL nor lone surrogates", () => {
  expect(JSON.parse(jsonRows([{ a: "x\0y", b: ["\ud800", "\u{1f600}"], c: 1, d: null, e: undefined }]))).toEqual([
    { a: "x\ufffdy", b: ["\ufffd", "\u{1f600}"], c: 1, d: null },
  ]);
});

test.for([
  ["08006", "FATAL"],
  ["28P01", "FATAL"],
  ["53300", "FATAL"],
  ["53100", "ERROR"],
  ["55P03", "ERROR"],
  ["57014", "ERROR"],
  ["57P01", "FATAL"],
  ["25006", "ERROR"],
] as const)("SQLSTATE %s is reported as temporarily_unavailable with Retry-After", ([code, severity]) => {
  const error = databaseError(code, severity);
  expect(asRefusedBy(error)).toMatchObject({
    code: "temporarily_unavailable",
    reason: "storage_unavailable",
    detail: { cause: error, retryAfter: 5 },
  });
});

test.for(["23505", "22P02", "42P01", "40001"])("SQLSTATE %s stays an internal error", (code) => {
  const error = databaseError(code);
  expect(asRefusedBy(error)).toBe(error);
});

test("lost connections and timeouts are temporarily_unavailable; programming errors and refusals are unchanged", () => {
  expect(asRefusedBy(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }))).toMatchObject({ reason: "storage_unavailable" });
  expect(asRefusedBy(new Error("Connection terminated unexpectedly"))).toMatchObject({ reason: "storage_unavailable" });
  for (const message of [
    "timeout exceeded when trying to connect",
    "Query read timeout",
    "PGlite is closed",
    "Cannot use a pool after calling end on the pool",
  ]) {
    expect(asRefusedBy(new Error(message))).toMatchObject({ reason: "storage_unavailable" });
  }
  for (const mistake of [new TypeError("undefined is not a function"), new Error("Prepared statements must be unique")]) {
    expect(asRefusedBy(mistake)).toBe(mistake);
  }
  const refusal = new Refusal("conflict", "client_id_taken");
  expect(asRefusedBy(refusal)).toBe(refusal);
});

test("only serialization failures and deadlocks are repeated", () => {
  expect(["40001", "40P01", "23505", "57014"].map((code) => mayBeRepeated(databaseError(code)))).toEqual([true, true, false, false]);
});

test("a connection is kept after an error of a statement, and closed after a lost connection or timeout", () => {
  expect(leavesConnection(databaseError("23505"))).toBe(true);
  expect(leavesConnection(asRefusedBy(databaseError("57014")))).toBe(true);
  for (const code of ["57P01", "25P03", "08P01"]) expect(leavesConnection(asRefusedBy(databaseError(code, "FATAL")))).toBe(false);
  expect(leavesConnection(asRefusedBy(new Error("Query read timeout")))).toBe(false);
  expect(leavesConnection(new Refusal("conflict", "client_id_taken"))).toBe(true);
});

test("a connection is kept and closed alike where the server speaks another language", () => {
  expect(leavesConnection(databaseError("23505", "FEHLER"))).toBe(true);
  expect(leavesConnection(asRefusedBy(databaseError("57P01", "FATAL")))).toBe(false);
});

test.for([
  ["hex", "\\x005e91ff"],
  ["escape", "\\000^\\221\\377"],
] as const)("bytes are read where bytea_output is %s", ([, text]) => {
  const read: unknown = Reflect.apply(types.getTypeParser(17), undefined, [text]);
  expect(read).toEqual(new Uint8Array([0x00, 0x5e, 0x91, 0xff]));
});
