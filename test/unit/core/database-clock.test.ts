import { expect, test } from "vitest";
import { databaseClock } from "../../../src/core/clocks.ts";

function aDatabaseClock() {
  const at = { database: 1_000, process: 5_000_000, elapsed: 0, answering: 0 };
  const clock = databaseClock(
    async () => {
      const read = at.database;
      at.process += at.answering;
      at.elapsed += at.answering;
      at.database += at.answering / 1_000;
      return read;
    },
    () => at.process,
    () => at.elapsed,
  );
  return { at, clock };
}

test("the time is unknown before the first measurement", () => {
  expect(aDatabaseClock().clock.now()).toBeUndefined();
});

test("the time advances by the monotonic clock, independently of the process's wall clock", async () => {
  const { at, clock } = aDatabaseClock();
  expect(await clock.measure()).toBe(-4_000);
  at.elapsed += 2_500;
  at.process += 86_400_000;
  expect(clock.now()).toBe(1_002.5);
});

test("the time is never ahead of the database, even with a slow answer", async () => {
  const { at, clock } = aDatabaseClock();
  at.answering = 800;
  await clock.measure();
  expect(clock.now()).toBe(1_000);
  expect(at.database).toBe(1_000.8);
});
