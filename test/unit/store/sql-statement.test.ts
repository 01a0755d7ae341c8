import type { PoolClient } from "pg";
import { expect, test } from "vitest";
import { statement, undoable } from "../../../src/store/sql.ts";
import { poolSql } from "../../../src/store/sql-postgres.ts";

const fault = (code: string, severity = "ERROR") => Object.assign(new Error("from the server"), { code, severity });
const lost = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
const ONE = statement("one", "select 1");

/** A pool whose statements have these ends, one after another. `released`: for each connection, whether it was thrown away. */
function poolOf(...ends: readonly (Error | "rows")[]) {
  const left = [...ends];
  const released: (boolean | undefined)[] = [];
  const client = {
    query: async () => {
      const end = left.shift();
      if (end instanceof Error) throw end;
      return { rows: [{ one: 1 }] };
    },
    release: (destroy?: boolean) => released.push(destroy),
  };
  return { released, left, sql: poolSql({ connect: async () => client as unknown as PoolClient }, { since: false }) };
}

test.for([
  ["succeeds", ["rows"], undefined, [false]],
  ["succeeds after one conflict", [fault("40P01"), "rows"], undefined, [false, false]],
  ["conflicts twice", [fault("40001"), fault("40P01"), "rows"], "storage_unavailable", [false, false]],
  ["fails after a conflict", [fault("40001"), lost, "rows"], "storage_unavailable", [false, true]],
  ["loses its connection", [lost, "rows"], "storage_unavailable", [true]],
  ["meets a server that shuts down", [fault("57P01", "FATAL"), "rows"], "storage_unavailable", [true]],
  ["is refused by a constraint", [fault("23505"), "rows"], undefined, [false]],
] as const)("a statement that %s", async ([, ends, reason, released]) => {
  const pool = poolOf(...ends);
  const error = await pool.sql.query(ONE, []).then(
    () => undefined,
    (thrown: { reason?: string }) => thrown,
  );
  expect([error?.reason, pool.released]).toEqual([reason, released]);
  expect(pool.left.length).toBe(ends.length - released.length);
});

test("a transaction that is undone on purpose is rolled back, and its connection kept, with the statements that it has prepared", async () => {
  const pool = poolOf("rows", "rows", "rows");
  const result = await undoable<string>(pool.sql, async (tx, undo) => {
    await tx.query(ONE, []);
    return undo("taken");
  });
  expect([result, pool.released, pool.left]).toEqual(["taken", [false], []]); // begin, the statement and rollback
});
