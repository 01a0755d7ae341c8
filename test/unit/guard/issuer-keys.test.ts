import { beforeEach, describe, expect, test } from "vitest";
import type { KeySet } from "../../../guard-sdk/src/issuer-document.ts";
import { type IssuerKeys, issuerKeys } from "../../../guard-sdk/src/issuer-keys.ts";
import type { VerificationKey } from "../../../guard-sdk/src/signature.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const aKey = (x: string): VerificationKey => ({ x, verifies: () => true });
const first = aKey("first");
const second = aKey("second");

/** An issuer in this process: its keys, the number of requests, and whether it is unreachable. */
let published: KeySet;
let fetches: number;
let unreachable: boolean;
let seconds: number;
/** Seconds for which the machine slept: the clock that never steps back stood still. */
let slept: number;
const clocks = { now: () => seconds + slept, elapsed: () => seconds };
let keys: IssuerKeys;

beforeEach(() => {
  published = new Map([["first", first]]);
  fetches = 0;
  unreachable = false;
  seconds = 1_000;
  slept = 0;
  keys = issuerKeys(async () => {
    fetches += 1;
    const answer = published;
    await new Promise((done) => setImmediate(done));
    if (unreachable) throw new Error("connection refused");
    return answer;
  }, clocks);
});

const settle = () => new Promise((done) => setTimeout(done, 5));

test("keys are fetched when first needed, and concurrent callers share one fetch", async () => {
  expect(fetches).toBe(0);
  const found = await Promise.all(Array.from({ length: 50 }, () => keys.find("first")));
  expect([new Set(found), fetches]).toEqual([new Set([first]), 1]);
});

describe("an unknown kid", () => {
  test("is looked up again at once and a second later, and such a pair of look-ups comes once a minute", async () => {
    await keys.find("first");
    for (const kid of ["x1", "x2", "x3"]) expect(await refusalOf(() => keys.find(kid))).toEqual(["invalid_token", "key_unknown"]);
    expect(fetches).toBe(2);
    seconds += 1;
    for (const kid of ["x1", "x2", "x3"]) await refusalOf(() => keys.find(kid));
    expect(fetches).toBe(3);
    seconds += 59;
    await refusalOf(() => keys.find("x4"));
    expect(fetches).toBe(3);
    seconds += 1;
    await Promise.all(Array.from({ length: 20 }, (_, n) => refusalOf(() => keys.find(`y${n}`))));
    expect(fetches).toBe(4);
    seconds += 1;
    await refusalOf(() => keys.find("x5"));
    expect(fetches).toBe(5);
  });

  test("is found within a second also where look-ups failed before that", async () => {
    await keys.find("first");
    unreachable = true;
    for (const _ of [1, 2]) {
      expect(await refusalOf(() => keys.find("second"))).toEqual(["temporarily_unavailable", "keys_unavailable"]);
      seconds += 5;
    }
    unreachable = false;
    expect(await refusalOf(() => keys.find("second"))).toEqual(["invalid_token", "key_unknown"]);
    published = new Map([["second", second]]);
    seconds += 1;
    expect(await keys.find("second")).toBe(second);
  });

  test("is found within a second where a cache answers with its old set, and replaces that only then", async () => {
    await keys.find("first");
    seconds += 30;
    const unseen = new Map([["second", second]]);
    expect(await refusalOf(() => keys.find("second"))).toEqual(["invalid_token", "key_unknown"]);
    published = unseen;
    seconds += 1;
    expect(await keys.find("second")).toBe(second);
  });

  test("is found at once when the issuer has rotated right after the first fetch, or after a renewal", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    expect(await keys.find("second")).toBe(second);
    seconds += 301;
    await keys.find("second");
    await settle();
    published = new Map([["third", first]]);
    expect(await keys.find("third")).toBe(first);
    expect(fetches).toBe(4);
  });

  test("is found by concurrent callers with one fetch", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    const find = () => keys.find("second");
    expect(new Set(await Promise.all(Array.from({ length: 20 }, find)))).toEqual(new Set([second]));
    expect(fetches).toBe(2);
  });

  test("is found with one more fetch by callers that arrive during an earlier one", async () => {
    const before = keys.find("first");
    published = new Map([["second", second]]);
    const find = () => keys.find("second");
    expect(new Set(await Promise.all(Array.from({ length: 20 }, find)))).toEqual(new Set([second]));
    expect([await before, fetches]).toEqual([first, 2]);
  });

  test("that caused the first fetch is not looked up again, and leaves the next look-up to others", async () => {
    expect(await refusalOf(() => keys.find("second"))).toEqual(["invalid_token", "key_unknown"]);
    expect(fetches).toBe(1);
    published = new Map([["second", second]]);
    expect(await keys.find("second")).toBe(second);
  });

  test("is looked up again five seconds after a failed look-up", async () => {
    await keys.find("first");
    unreachable = true;
    const outage = ["temporarily_unavailable", "keys_unavailable"];
    expect(await refusalOf(() => keys.find("second"))).toEqual(outage);
    unreachable = false;
    published = new Map([["second", second]]);
    seconds += 4;
    expect(await refusalOf(() => keys.find("second"))).toEqual(outage);
    expect(fetches).toBe(2);
    seconds += 1;
    expect([await keys.find("second"), fetches]).toEqual([second, 3]);
  });

  test("is found after the issuer has rotated", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    seconds += 60;
    expect(await keys.find("second")).toBe(second);
    expect(await refusalOf(() => keys.find("first"))).toEqual(["invalid_token", "key_unknown"]);
  });

  test("is refused as temporarily_unavailable while the issuer is unreachable", async () => {
    await keys.find("first");
    unreachable = true;
    seconds += 60;
    expect(await refusalOf(() => keys.find("second"))).toEqual(["temporarily_unavailable", "keys_unavailable"]);
    expect(await keys.find("first")).toBe(first);
  });
});

test("a token without kid is verified with the only key, and refused where there are two", async () => {
  expect(await keys.find(undefined)).toBe(first);
  published = new Map([...published, ["second", second]]);
  seconds += 60;
  await refusalOf(() => keys.find("x"));
  expect(await refusalOf(() => keys.find(undefined))).toEqual(["invalid_token", "key_unknown"]);
});

describe("renewal of keys", () => {
  test("keys are renewed after four minutes in the background", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    seconds += 241;
    expect(await keys.find("first")).toBe(first);
    await settle();
    expect(fetches).toBe(2);
    expect(await refusalOf(() => keys.find("first"))).toEqual(["invalid_token", "key_unknown"]);
  });

  test("a key that was withdrawn during five minutes without requests verifies none of the requests that follow", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    seconds += 301;
    const answers = await Promise.all(Array.from({ length: 20 }, () => refusalOf(() => keys.find("first"))));
    expect(answers).toEqual(Array.from({ length: 20 }, () => ["invalid_token", "key_unknown"]));
  });

  test("a key that was withdrawn while the machine slept verifies nothing after it, and others go on where the issuer is away", async () => {
    await keys.find("first");
    seconds += 30;
    slept += 302;
    unreachable = true;
    expect(await keys.find("first")).toBe(first);
    slept += 86_400;
    expect(await keys.find("first")).toBe(first);
    unreachable = false;
    published = new Map([["second", second]]);
    slept += 302;
    expect(await refusalOf(() => keys.find("first"))).toEqual(["invalid_token", "key_unknown"]);
  });

  test("a set that was fetched while the machine slept is as old as the question", async () => {
    await keys.find("first");
    slept += 302;
    const asked = keys.find("first"); // the answer is made before the machine sleeps, and arrives after it
    slept += 302;
    expect(await asked).toBe(first);
    published = new Map([["second", second]]);
    expect(await refusalOf(() => keys.find("first"))).toEqual(["invalid_token", "key_unknown"]);
  });

  test("requests wait once for an issuer that does not answer, then its keys are renewed beside them", async () => {
    let answer: (error?: Error) => void = () => undefined;
    const slow = issuerKeys(
      () => new Promise((resolve, reject) => (answer = (error) => (error === undefined ? resolve(published) : reject(error)))),
      clocks,
    );
    const found = slow.find("first");
    answer();
    await found;
    seconds += 3_600;
    const waiting = slow.find("first");
    expect(await Promise.race([waiting, settle()])).toBe(undefined);
    answer(new Error("timeout"));
    expect(await waiting).toBe(first);
    seconds += 60;
    expect(await slow.find("first")).toBe(first);
    published = new Map([["second", second]]);
    answer();
    await settle();
    expect(await slow.find("second")).toBe(second);
  });

  test("keys are used for a day after the issuer became unreachable, and no longer", async () => {
    await keys.find("first");
    unreachable = true;
    seconds += 86_400;
    expect(await keys.find("first")).toBe(first);
    await settle();
    seconds += 5;
    expect(await refusalOf(() => keys.find("first"))).toEqual(["temporarily_unavailable", "keys_unavailable"]);
  });

  test("an unreachable issuer is asked once a minute, not once per request", async () => {
    await keys.find("first");
    unreachable = true;
    for (seconds += 301; seconds < 1_000 + 301 + 600; seconds += 1) {
      await keys.find("first");
      if (seconds % 10 === 0) await settle();
    }
    expect(fetches).toBe(1 + 10);
  });
});

describe("a key set without a usable key", () => {
  const outage = ["temporarily_unavailable", "keys_unavailable"];

  test("withdraws all keys, and tokens are refused as temporarily_unavailable until there is a key", async () => {
    await keys.find("first");
    published = new Map();
    seconds += 301;
    for (const kid of ["first", "second", undefined]) expect(await refusalOf(() => keys.find(kid))).toEqual(outage);
    expect(fetches).toBe(2);
    published = new Map([["second", second]]);
    seconds += 5;
    expect([await keys.find("second"), fetches]).toEqual([second, 3]);
    expect(await refusalOf(() => keys.find("first"))).toEqual(["invalid_token", "key_unknown"]);
  });

  test("says so in the cause of the refusal", async () => {
    published = new Map();
    await expect(keys.find("first")).rejects.toMatchObject({ cause: { message: "the key set has no key that can be used" } });
  });
});

test("without any keys tokens are refused as temporarily_unavailable, and the issuer is tried again after five seconds", async () => {
  unreachable = true;
  const outage = ["temporarily_unavailable", "keys_unavailable"];
  for (let n = 0; n < 10; n += 1) expect(await refusalOf(() => keys.find("first"))).toEqual(outage);
  expect(fetches).toBe(1);
  unreachable = false;
  seconds += 4;
  expect(await refusalOf(() => keys.find("first"))).toEqual(outage);
  seconds += 1;
  expect(await keys.find("first")).toBe(first);
});
