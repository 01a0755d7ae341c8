import { describe, expect, test } from "vitest";
import { ADMISSION, admission, nextLimit } from "../../../src/front/http/admission.ts";

const { most, least, interval } = ADMISSION;
const saturated = (turn: number, peak: number = most) => ({ elapsed: 60, idle: 0, turns: 60 / turn, peak });

describe("the limit on requests in flight", () => {
  test.for([
    ["shrinks to what turns of 12 ms bear, at a loop that never waits", 512, saturated(20), 307],
    ["shrinks to a quarter at once, at most", 512, saturated(60), 128],
    ["does not shrink below its least", 40, saturated(60), least],
    ["stays while less than half of it is in flight, however long the turns", 512, saturated(60, 255), 512],
    ["shrinks once half of it is in flight", 512, saturated(60, 256), 128],
    ["grows while the turns of a saturated loop are short", 160, { elapsed: interval, idle: 0, turns: 10, peak: most }, 170],
    ["grows while the loop waits, however long a turn took", 160, { elapsed: interval, idle: 5, turns: 1, peak: most }, 170],
    ["grows by the time that has passed", 32, { elapsed: 100 * interval, idle: 4_000, turns: 1, peak: most }, 232],
    ["does not grow above its most", 500, { elapsed: interval, idle: 40, turns: 5, peak: most }, most],
  ] as const)("%s", ([, limit, load, expected]) => {
    expect(nextLimit(limit, load)).toBe(expected);
  });

  test("is adjusted once in an interval, by the turns in which requests arrived", async () => {
    let now = 0;
    const admitted = admission({ now: () => now, eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }) });
    expect(admitted.limit).toBe(most);
    for (let turn = 0; turn < 3; turn += 1) {
      now += 24;
      admitted.arrived(most);
      admitted.arrived(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(admitted.limit).toBe(256);
  });
});
