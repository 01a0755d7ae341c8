import { beforeEach, describe, expect, test } from "vitest";
import type { KeySet } from "../../../guard-sdk/src/issuer-document.ts";
import { type IssuerKeys, issuerKeys } from "../../../guard-sdk/src/issuer-keys.ts";
import type { VerificationKey } from "../../../guard-sdk/src/signature.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const aKey = (x: string): VerificationKey => ({ x, verifies: () => true });
const first = aKey("first");
const second = aKey("second");

/** An issuer in this process: what it publishes, how often it was asked, whether it can be reached. */
let published: KeySet;
let asked: number;
let gone: boolean;
let seconds: number;
let keys: IssuerKeys;

beforeEach(() => {
  published = new Map([["first", first]]);
  asked = 0;
  gone = false;
  seconds = 1_000;
  keys = issuerKeys(
    async () => {
      asked += 1;
      const answer = published;
      await new Promise((done) => setImmediate(done));
      if (gone) throw new Error("connection refused");
      return answer;
    },
    () => seconds,
  );
});

const settle = () => new Promise((done) => setTimeout(done, 5));

test("nothing is fetched before a key is needed; many that need it at once wait for one fetch", async () => {
  expect(asked).toBe(0);
  const found = await Promise.all(Array.from({ length: 50 }, () => keys.find("first")));
  expect([new Set(found), asked]).toEqual([new Set([first]), 1]);
});

describe("an unknown kid", () => {
  test("is looked up again once a minute at most, whatever tokens say", async () => {
    await keys.find("first");
    for (const kid of ["x1", "x2", "x3"]) expect(await refusalOf(() => keys.find(kid))).toEqual(["invalid_token", "key_unknown"]);
    expect(asked).toBe(2);
    seconds += 59;
    await refusalOf(() => keys.find("x4"));
    expect(asked).toBe(2);
    seconds += 1;
    await Promise.all(Array.from({ length: 20 }, (_, n) => refusalOf(() => keys.find(`y${n}`))));
    expect(asked).toBe(3);
  });

  test("is found at once when the issuer has rotated right after the first fetch, or after one for age", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    expect(await keys.find("second")).toBe(second);
    seconds += 301;
    await keys.find("second");
    await settle();
    published = new Map([["third", first]]);
    expect(await keys.find("third")).toBe(first);
    expect(asked).toBe(4);
  });

  test("is found by all that name it at once, with one fetch", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    const find = () => keys.find("second");
    expect(new Set(await Promise.all(Array.from({ length: 20 }, find)))).toEqual(new Set([second]));
    expect(asked).toBe(2);
  });

  test("is found by all that came during an earlier fetch, with one more", async () => {
    const before = keys.find("first");
    published = new Map([["second", second]]);
    const find = () => keys.find("second");
    expect(new Set(await Promise.all(Array.from({ length: 20 }, find)))).toEqual(new Set([second]));
    expect([await before, asked]).toEqual([first, 2]);
  });

  test("that began a fetch itself has been looked for, and has not used up the look of others", async () => {
    expect(await refusalOf(() => keys.find("second"))).toEqual(["invalid_token", "key_unknown"]);
    expect(asked).toBe(1);
    published = new Map([["second", second]]);
    expect(await keys.find("second")).toBe(second);
  });

  test("is looked for again five seconds after a look that failed", async () => {
    await keys.find("first");
    gone = true;
    const outage = ["temporarily_unavailable", "keys_unavailable"];
    expect(await refusalOf(() => keys.find("second"))).toEqual(outage);
    gone = false;
    published = new Map([["second", second]]);
    seconds += 4;
    expect(await refusalOf(() => keys.find("second"))).toEqual(outage);
    expect(asked).toBe(2);
    seconds += 1;
    expect([await keys.find("second"), asked]).toEqual([second, 3]);
  });

  test("is found when the issuer has rotated", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    seconds += 60;
    expect(await keys.find("second")).toBe(second);
    expect(await refusalOf(() => keys.find("first"))).toEqual(["invalid_token", "key_unknown"]);
  });

  test("is no one's fault while the issuer is gone", async () => {
    await keys.find("first");
    gone = true;
    seconds += 60;
    expect(await refusalOf(() => keys.find("second"))).toEqual(["temporarily_unavailable", "keys_unavailable"]);
    expect(await keys.find("first")).toBe(first);
  });
});

test("a token without kid means the only key, and none where there are two", async () => {
  expect(await keys.find(undefined)).toBe(first);
  published = new Map([...published, ["second", second]]);
  seconds += 60;
  await refusalOf(() => keys.find("x"));
  expect(await refusalOf(() => keys.find(undefined))).toEqual(["invalid_token", "key_unknown"]);
});

describe("age", () => {
  test("after five minutes the set is renewed beside the request, which does not wait", async () => {
    await keys.find("first");
    published = new Map([["second", second]]);
    seconds += 301;
    expect(await keys.find("first")).toBe(first);
    await settle();
    expect(asked).toBe(2);
    expect(await refusalOf(() => keys.find("first"))).toEqual(["invalid_token", "key_unknown"]);
  });

  test("keys serve for a day after the issuer has gone, and no longer", async () => {
    await keys.find("first");
    gone = true;
    seconds += 86_400;
    expect(await keys.find("first")).toBe(first);
    await settle();
    seconds += 5;
    expect(await refusalOf(() => keys.find("first"))).toEqual(["temporarily_unavailable", "keys_unavailable"]);
  });

  test("an issuer that stays away is asked once a minute, not once a request", async () => {
    await keys.find("first");
    gone = true;
    for (seconds += 301; seconds < 1_000 + 301 + 600; seconds += 1) {
      await keys.find("first");
      if (seconds % 10 === 0) await settle();
    }
    expect(asked).toBe(1 + 10);
  });
});

test("without any keys the answer is an outage, and the issuer is tried again after five seconds", async () => {
  gone = true;
  const outage = ["temporarily_unavailable", "keys_unavailable"];
  for (let n = 0; n < 10; n += 1) expect(await refusalOf(() => keys.find("first"))).toEqual(outage);
  expect(asked).toBe(1);
  gone = false;
  seconds += 4;
  expect(await refusalOf(() => keys.find("first"))).toEqual(outage);
  seconds += 1;
  expect(await keys.find("first")).toBe(first);
});
