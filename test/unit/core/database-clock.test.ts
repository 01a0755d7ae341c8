import { expect, test } from "vitest";
import { databaseClock } from "../../../src/core/clocks.ts";

/** Clocks in milliseconds, the database's in seconds; `answering` milliseconds pass before an answer arrives. */
function aDatabaseClock() {
  const at = { database: 1_000, process: 5_000_000, elapsed: 0, answering: 0, gone: false };
  const pass = (milliseconds: number) => {
    at.process += milliseconds;
    at.elapsed += milliseconds;
    at.database += milliseconds / 1_000;
  };
  const read = async () => {
    if (at.gone) throw new Error("no database");
    const found = at.database;
    pass(at.answering);
    return found;
  };
  const clock = databaseClock(
    read,
    () => at.process,
    () => at.elapsed,
  );
  return { at, pass, clock };
}
const uncertain = { code: "temporarily_unavailable", reason: "clock_uncertain" };

test("the time is unknown before the first measurement, and nothing is issued", async () => {
  const { at, clock } = aDatabaseClock();
  expect([clock.now(), clock.seconds(), clock.state()]).toEqual([undefined, 5_000, "uncertain"]);
  at.gone = true;
  await expect(clock.assertTrue()).rejects.toMatchObject({ ...uncertain, detail: { retryAfter: 1 } });
});

test("before the first measurement no difference is known", () => {
  expect(aDatabaseClock().clock.offset()).toBe(0);
});

test.for([
  [1_000, true],
  [-1_000, true],
  [1_001, false],
  [-1_001, false],
] as const)("R8: a step of the process's clock by %i ms is tolerated: %s", async ([step, tolerated]) => {
  const { at, clock } = aDatabaseClock();
  await clock.measure();
  at.process += step;
  expect(clock.isTrue()).toBe(tolerated);
});

test("R8: the database is asked only while the time may be wrong", async () => {
  const { at, pass, clock } = aDatabaseClock();
  await clock.measure();
  pass(4_000_000); // 2 s of possible drift
  at.database = 0;
  await clock.assertTrue();
  expect(clock.seconds()).toBe(5_000);
  pass(1);
  await clock.assertTrue();
  expect(clock.seconds()).toBe(0);
});

test("R8: an answer within a second replaces a good reading", async () => {
  const { at, clock } = aDatabaseClock();
  await clock.measure();
  at.answering = 1_000;
  at.database = 2_000;
  await clock.measure();
  expect(clock.now()).toBe(2_000);
});

test("the time advances by the monotonic clock, independently of the process's wall clock", async () => {
  const { at, clock } = aDatabaseClock();
  expect(await clock.measure()).toBe(-4_000);
  at.elapsed += 2_500;
  at.process += 86_400_000;
  expect([clock.now(), clock.seconds()]).toEqual([1_002.5, 1_002]);
});

test("the time is never ahead of the database, even with a slow answer", async () => {
  const { at, clock } = aDatabaseClock();
  at.answering = 800;
  await clock.measure();
  expect(clock.now()).toBe(1_000);
  expect(at.database).toBe(1_000.8);
});

test.for([
  [0, undefined],
  [2, undefined],
  [2.1, "corrected"],
  [-2.1, "corrected"],
  [86_400, "corrected"],
  [-86_400, "corrected"],
] as const)(
  "R8: with the process's clock %d s ahead, tokens are issued by the database's time, and the state is %s",
  async ([ahead, state]) => {
    const { at, pass, clock } = aDatabaseClock();
    at.process = (at.database + ahead) * 1_000;
    await clock.measure();
    pass(3_600_000);
    await clock.assertTrue();
    expect([clock.seconds(), clock.state()]).toEqual([4_600, state]);
  },
);

test("R8: a slow answer replaces no good reading, and does not suffice to issue anything", async () => {
  const { at, clock } = aDatabaseClock();
  at.answering = 2_100;
  await expect(clock.assertTrue()).rejects.toMatchObject(uncertain);
  at.answering = 10;
  await clock.assertTrue();
  at.answering = 1_500;
  await clock.measure();
  expect(clock.now()).toBeCloseTo(at.database - 0.01, 5);
});

test("R8: after a step of the process's clock, or a pause of the machine, the database is asked before anything is issued", async () => {
  const { at, clock } = aDatabaseClock();
  await clock.measure();
  at.process += 86_400_000;
  expect(clock.isTrue()).toBe(false);
  await clock.assertTrue();
  expect([clock.seconds(), clock.state()]).toEqual([1_000, "corrected"]);
  at.process += 5_000;
  at.database += 5;
  at.gone = true;
  await expect(clock.assertTrue()).rejects.toMatchObject(uncertain);
  at.gone = false;
  await clock.assertTrue();
  expect(clock.seconds()).toBe(1_005);
});

test("R8: without readings, the possible drift ends issuing after an hour", async () => {
  const { at, pass, clock } = aDatabaseClock();
  await clock.measure();
  pass(3_900_000);
  await clock.assertTrue();
  pass(4_100_000);
  at.gone = true;
  await expect(clock.assertTrue()).rejects.toMatchObject(uncertain);
});
