import { describe, expect, test } from "vitest";
import { isRefusal } from "../../../src/errors.ts";
import { asRefusedBy, changedNothing, repeatedOnce, translated } from "../../../src/store/availability.ts";

/** An error as pg throws it. */
const databaseError = (code: string, more: object = {}) => Object.assign(new Error("no"), { code, severity: "ERROR", ...more });

describe("colliding statements", () => {
  for (const code of ["40001", "40P01", "23503"]) {
    test(`are repeated after ${code}`, async () => {
      let calls = 0;
      const work = async () => {
        calls += 1;
        if (calls === 1) throw databaseError(code);
        return "done";
      };
      expect([await repeatedOnce(work), calls]).toEqual(["done", 2]);
    });

    test(`fail with temporarily_unavailable after ${code} twice`, async () => {
      let calls = 0;
      const failing = () =>
        translated(async () => {
          calls += 1;
          throw databaseError(code);
        });
      const error = await repeatedOnce(failing).catch((thrown: unknown) => thrown);
      expect(isRefusal(error) && [error.code, error.detail.retryAfter]).toEqual(["temporarily_unavailable", 5]);
      expect([calls, changedNothing(error)]).toEqual([2, true]);
    });
  }

  test("other errors are neither repeated nor translated", async () => {
    const error = databaseError("23514");
    expect(await repeatedOnce(() => Promise.reject(error)).catch((thrown: unknown) => thrown)).toBe(error);
  });
});

test("an audit record that cannot be written makes a request temporarily_unavailable", () => {
  for (const more of [
    { table: "audit_records" },
    { where: "SQL statement insert into audit_records" },
    { message: 'relation "audit_records" does not exist' },
  ])
    expect(asRefusedBy(databaseError("23514", more))).toMatchObject({ code: "temporarily_unavailable" });
  expect(asRefusedBy(databaseError("23514", { table: "users" }))).not.toHaveProperty("reason");
});
