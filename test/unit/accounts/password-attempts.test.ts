import { describe, expect, test } from "vitest";
import { deviceKey, type KnownDevices } from "../../../src/accounts/caller.ts";
import { fairQueue } from "../../../src/accounts/fair-queue.ts";
import { type PasswordAttempts, passwordAttempts } from "../../../src/accounts/password-attempts.ts";
import type { AttemptVerdict, SignInFailures } from "../../../src/accounts/ports.ts";
import { Refusal } from "../../../src/errors.ts";
import { aClock } from "../../support/clock.ts";

const noDelay = fairQueue({ width: 0, queue: 0, share: 0, wait: 0 });

/** The counters as the database keeps them, in one window that does not end. */
function budgets() {
  const rows = new Map<string, { failures: number; pending: number }>();
  const of = (key: Uint8Array) => {
    const name = Buffer.from(key).toString("hex");
    const row = rows.get(name) ?? { failures: 0, pending: 0 };
    rows.set(name, row);
    return row;
  };
  let storeCalls = 0;
  const store: SignInFailures = {
    async reserve(key, { limit, window }) {
      storeCalls += 1;
      const row = of(key);
      if (row.failures + row.pending >= limit) return row.failures >= limit ? window : 1;
      row.pending += 1;
      return 0;
    },
    async settle({ pair, address }, verdict) {
      for (const row of [pair, address].flatMap((key) => (key === undefined ? [] : [of(key)]))) {
        row.pending -= 1;
        if (verdict === "wrong") row.failures += 1;
      }
      if (pair !== undefined && verdict === "right") of(pair).failures = 0;
    },
    clear: async (pair) => {
      of(pair).failures = 0;
    },
    count: async (key) => {
      of(key).failures += 1;
    },
    failures: async (key) => of(key).failures,
  };
  const known = new Set<string>();
  const devices: KnownDevices = {
    isKnown: async (key) => known.has(Buffer.from(key).toString("hex")),
    remember: async (key) => void known.add(Buffer.from(key).toString("hex")),
  };
  const clock = aClock();
  return { store, devices, clock, storeCalls: () => storeCalls, attempts: passwordAttempts(store, devices, clock.now, noDelay) };
}

const HERE = { limitKey: "192.0.2.1" };
const ELSEWHERE = { limitKey: "198.51.100.1" };
const verdict = (kind: AttemptVerdict) => async () => ({ verdict: kind });
const full = async (): Promise<never> => {
  throw new Refusal("temporarily_unavailable", "queue_full", { retryAfter: 1 });
};
const codeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => "run",
    (error) => error.code,
  );
const fail = (attempts: PasswordAttempts, email: string, caller = HERE) => codeOf(attempts.run(email, caller, verdict("wrong")));

describe("password attempts", () => {
  test("attempts without a verdict are not counted", async () => {
    const { attempts } = budgets();
    const fault = async (): Promise<never> => {
      throw new Error("a fault");
    };
    for (let n = 0; n < 200; n++) await codeOf(attempts.run("ada@example.test", HERE, n % 2 === 0 ? full : fault));
    expect(await codeOf(attempts.run("ada@example.test", HERE, verdict("right")))).toBe("run");
  });

  test("the eleventh wrong password for one account is refused for the rest of the window", async () => {
    const { attempts, clock } = budgets();
    for (let n = 0; n < 10; n++) expect(await fail(attempts, "ada@example.test")).toBe("run");
    const tooMany = (retryAfter: number) => ({ code: "too_many_requests", detail: { retryAfter } });
    await expect(attempts.run("Ada@Example.test ", HERE, full)).rejects.toMatchObject(tooMany(900));
    clock.pass(3);
    await expect(attempts.run("ada@example.test", HERE, full)).rejects.toMatchObject(tooMany(897)); // without asking the store
    expect(await codeOf(attempts.run("ada@example.test", ELSEWHERE, verdict("right")))).toBe("run");
  });

  test("all spellings of an address in Unicode share one budget", async () => {
    const { attempts } = budgets();
    for (let n = 0; n < 10; n++) expect(await fail(attempts, "zo\u00eb@example.test")).toBe("run");
    expect(await fail(attempts, "zoe\u0308@example.test")).toBe("too_many_requests");
  });

  test("after 100 failures over all accounts, an address is refused for the rest of the window without asking the store", async () => {
    const { attempts, storeCalls, clock } = budgets();
    const outcomes: string[] = [];
    for (let n = 0; n < 101; n++) outcomes.push(await fail(attempts, `user${n}@example.test`));
    expect([outcomes.filter((outcome) => outcome === "run").length, outcomes.at(-1)]).toEqual([100, "too_many_requests"]);
    const before = storeCalls();
    for (let n = 0; n < 1_000; n++) expect(await fail(attempts, `user${n}@example.test`)).toBe("too_many_requests");
    expect(storeCalls()).toBe(before);
    expect(await fail(attempts, "user1@example.test", ELSEWHERE)).toBe("run");
    clock.pass(901);
    await fail(attempts, "user1@example.test");
    expect(storeCalls()).toBeGreaterThan(before);
  });

  test("a right password does not reset the failures of its address", async () => {
    const { attempts } = budgets();
    for (let n = 0; n < 100; n++) {
      await fail(attempts, `user${n}@example.test`);
      await attempts.run("own@example.test", HERE, verdict("right")).catch(() => undefined);
    }
    expect(await codeOf(attempts.run("own@example.test", HERE, verdict("right")))).toBe("too_many_requests");
  });

  test("refused attempts on one account do not count against the address", async () => {
    const { attempts } = budgets();
    for (let n = 0; n < 300; n++) await fail(attempts, "ada@example.test");
    expect(await codeOf(attempts.run("grace@example.test", HERE, verdict("right")))).toBe("run");
  });

  test("an address with 300 pending attempts delays another address by at most 8 jobs", async () => {
    const { attempts } = budgets();
    const ends: (() => void)[] = [];
    const slow = () => new Promise<{ verdict: "wrong" }>((resolve) => ends.push(() => resolve({ verdict: "wrong" })));
    const flood = Array.from({ length: 300 }, (_, n) => codeOf(attempts.run(`user${n}@example.test`, HERE, slow)));
    let begun = false;
    const owner = attempts.run("owner@example.test", ELSEWHERE, async () => {
      begun = true;
      return { verdict: "right" as const };
    });
    let ended = 0;
    while (!begun) {
      await new Promise((resolve) => setImmediate(resolve));
      const end = ends.shift();
      if (end !== undefined) ended += 1;
      end?.();
    }
    expect(ended).toBeLessThanOrEqual(8);
    expect(await owner).toEqual({ verdict: "right" });
    const rest = setInterval(() => ends.splice(0).forEach((end) => void end()), 1);
    const outcomes = await Promise.all(flood);
    clearInterval(rest);
    expect(outcomes.every((outcome) => ["run", "too_many_requests", "temporarily_unavailable"].includes(outcome))).toBe(true);
    expect(outcomes.filter((outcome) => outcome === "run").length).toBeLessThanOrEqual(100);
  });

  test("refusals are delayed, but not beyond the capacity of the delay queue", async () => {
    const { store, clock, devices } = budgets();
    const waiting = fairQueue({ width: 0, queue: 1, share: 1, wait: 60_000 });
    const attempts = passwordAttempts(store, devices, clock.now, waiting);
    let answered = 0;
    const refusals = [HERE, HERE, ELSEWHERE].map((caller) => codeOf(attempts.run("ada@example.test", caller, full)).then(() => answered++));
    await Promise.all(refusals.slice(1));
    expect(answered).toBe(2);
  });

  test("an attempt whose failure cannot be stored is refused as temporarily_unavailable", async () => {
    const { store, clock, devices } = budgets();
    const failing = passwordAttempts({ ...store, settle: full }, devices, clock.now, noDelay);
    expect(await codeOf(failing.run("ada@example.test", HERE, verdict("wrong")))).toBe("temporarily_unavailable");
  });

  test("an error of the job is thrown even when its reservation cannot be released", async () => {
    const { store, clock, devices } = budgets();
    const failing = passwordAttempts({ ...store, settle: full }, devices, clock.now, noDelay);
    await expect(failing.run("ada@example.test", HERE, () => Promise.reject(new Error("first")))).rejects.toThrow("first");
  });
});

describe("a flood of wrong passwords", () => {
  const OWNER = "owner@example.test";
  const right = (attempts: PasswordAttempts, caller: object, email = OWNER) =>
    codeOf(attempts.run(email, caller as never, verdict("right")));
  /** Attempts that end when the test says so. */
  function running(attempts: PasswordAttempts, count: number, caller = HERE) {
    const ended = Promise.withResolvers<void>();
    const slow = async () => {
      await ended.promise;
      return { verdict: "wrong" } as const;
    };
    const flood = Array.from({ length: count }, () => codeOf(attempts.run(OWNER, caller, slow)));
    return { end: ended.resolve, flood };
  }

  test("of 200 in flight from one address does not keep the owner out elsewhere", async () => {
    const { attempts } = budgets();
    for (let round = 0; round < 20; round++) {
      const { end, flood } = running(attempts, 200);
      const owner = right(attempts, ELSEWHERE);
      end();
      expect(await owner).toBe("run");
      await Promise.all(flood);
    }
  });

  test("does not keep the owner out at the same address with a known device", async () => {
    const { attempts, devices } = budgets();
    const known = { ...HERE, device: "a device" };
    await devices.remember(deviceKey(OWNER, known.device), "owner", 1);
    for (let round = 0; round < 20; round++) {
      const { end, flood } = running(attempts, 200);
      const owner = right(attempts, known);
      end();
      expect(await owner).toBe("run");
      await Promise.all(flood);
    }
    expect(await right(attempts, { ...HERE, device: "another device" })).toBe("too_many_requests");
    expect(await right(attempts, known, "other@example.test")).toBe("run");
  });

  test("from many addresses leaves each address fewer attempts, and refuses none of them for the others", async () => {
    const { attempts } = budgets();
    for (let n = 0; n < 50; n++) await fail(attempts, OWNER, { limitKey: `203.0.113.${n}` });
    const fresh = { limitKey: "198.51.100.7" };
    const outcomes: string[] = [];
    for (let n = 0; n < 4; n++) outcomes.push(await fail(attempts, OWNER, fresh));
    expect(outcomes).toEqual(["run", "run", "run", "too_many_requests"]);
    expect(await right(attempts, ELSEWHERE)).toBe("run");
  });

  test("over 1,000 accounts is stopped after the budget of its address", async () => {
    const { attempts } = budgets();
    const outcomes = await Promise.all(Array.from({ length: 1000 }, (_, n) => fail(attempts, `user${n}@example.test`)));
    const more: string[] = [];
    for (let n = 0; n < 200; n++) more.push(await fail(attempts, `later${n}@example.test`));
    expect([...outcomes, ...more].filter((outcome) => outcome === "run")).toHaveLength(100);
  });

  test("of a known device is stopped after its own budget", async () => {
    const { attempts, devices } = budgets();
    const known = { ...HERE, device: "a device" };
    await devices.remember(deviceKey(OWNER, known.device), "owner", 1);
    const outcomes: string[] = [];
    for (let n = 0; n < 11; n++) outcomes.push(await fail(attempts, OWNER, known));
    expect([outcomes.filter((outcome) => outcome === "run").length, outcomes.at(-1)]).toEqual([10, "too_many_requests"]);
    expect(await right(attempts, HERE)).toBe("run");
  });
});
