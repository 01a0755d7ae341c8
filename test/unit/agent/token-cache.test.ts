import { describe, expect, test } from "vitest";
import { AgentError } from "../../../agent-sdk/src/errors.ts";
import { type AccessToken, cacheKey, freshnessOf, tokenCache } from "../../../agent-sdk/src/token-cache.ts";
import { accessTokenOf } from "../../../agent-sdk/src/token-endpoint.ts";

test.for([
  [0, "fresh"],
  [719, "fresh"],
  [720, "stale"],
  [894, "stale"],
  [895, "expired"],
  [5_000, "expired"],
] as const)("a token of 900 seconds is, after %s seconds, %s", ([age, freshness]) => {
  expect(freshnessOf({ issuedAt: 1_000, expiresAt: 1_900 }, 1_000 + age)).toBe(freshness);
});

test("a token of 10 seconds is used for 9", () => {
  expect([8, 9].map((age) => freshnessOf({ issuedAt: 0, expiresAt: 10 }, age))).toEqual(["stale", "expired"]);
});

test("one key for what may share a token, whatever the order of scopes", () => {
  const use = { party: "own", resource: "https://r", scope: "a b", isBound: true };
  expect(cacheKey({ ...use, scope: "b a" })).toBe(cacheKey(use));
  const others = [
    { party: "user x" },
    { resource: "https://s" },
    { resource: undefined },
    { scope: "a" },
    { scope: undefined },
    { isBound: false },
  ];
  expect(new Set([use, ...others.map((other) => ({ ...use, ...other }))].map(cacheKey)).size).toBe(7);
});

describe("the memory of tokens", () => {
  const clock = { now: 0 };
  let issued = 0;
  const issue = async (): Promise<AccessToken> => {
    issued += 1;
    const { now } = clock;
    return { value: `token ${issued}`, scheme: "Bearer", scope: undefined, issuedAt: now, expiresAt: now + 100 };
  };
  const fresh = () => {
    clock.now = 0;
    issued = 0;
    return tokenCache(() => clock.now);
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test("64 requests at once need one token", async () => {
    const cache = fresh();
    const values = await Promise.all(Array.from({ length: 64 }, async () => (await cache.obtain("k", issue)).value));
    expect([new Set(values).size, issued]).toEqual([1, 1]);
  });

  test("a stale token is used while the next is fetched, an expired one is not", async () => {
    const cache = fresh();
    await cache.obtain("k", issue);
    clock.now = 85;
    expect((await cache.obtain("k", issue)).value).toBe("token 1");
    await settled();
    expect((await cache.obtain("k", issue)).value).toBe("token 2");
    clock.now = 300;
    expect((await cache.obtain("k", issue)).value).toBe("token 3");
  });

  test("a renewal that fails is tried again after ten seconds, and the error shows when the token has expired", async () => {
    const cache = fresh();
    await cache.obtain("k", issue);
    let attempts = 0;
    const fail = async (): Promise<AccessToken> => {
      attempts += 1;
      throw new Error("away");
    };
    for (clock.now of [80, 85, 91, 94]) {
      expect((await cache.obtain("k", fail)).value).toBe("token 1");
      await settled();
    }
    expect(attempts).toBe(2);
    clock.now = 95;
    await expect(cache.obtain("k", fail)).rejects.toThrow("away");
    expect((await cache.obtain("k", issue)).value).toBe("token 2");
  });

  test("a renewal that the server put off is tried again when it said, or once the token has expired", async () => {
    const cache = fresh();
    await cache.obtain("k", async () => ({ ...(await issue()), expiresAt: 1_000 }));
    let attempts = 0;
    const putOff = async (): Promise<AccessToken> => {
      attempts += 1;
      throw new AgentError("too_many_requests", "not now", { retryAfter: 60 });
    };
    for (clock.now of [800, 815, 859, 860, 919]) {
      await cache.obtain("k", putOff);
      await settled();
    }
    expect(attempts).toBe(2);
    clock.now = 995;
    expect((await cache.obtain("k", issue)).value).toBe("token 2");
  });

  test("a refused token is forgotten, but not its successor", async () => {
    const cache = fresh();
    const first = await cache.obtain("k", issue);
    cache.drop("k", first);
    const second = await cache.obtain("k", issue);
    cache.drop("k", first);
    expect([second.value, (await cache.obtain("k", issue)).value]).toEqual(["token 2", "token 2"]);
  });

  test("the oldest of more than a thousand tokens leaves", async () => {
    const cache = fresh();
    for (let at = 0; at <= 1_000; at += 1) await cache.obtain(`k${at}`, issue);
    expect((await cache.obtain("k1", issue)).value).toBe("token 2");
    expect((await cache.obtain("k0", issue)).value).toBe("token 1002");
  });
});

test("the token of a response: its type, scope and life", () => {
  const response = { access_token: "t", token_type: "dpop", expires_in: 900, scope: "a" };
  expect(accessTokenOf(response, "a b", 1_000)).toEqual({ value: "t", scheme: "DPoP", scope: "a", issuedAt: 1_000, expiresAt: 1_900 });
  const { token_type, ...rest } = response;
  expect(accessTokenOf({ access_token: "t", token_type: "Bearer" }, "a b", 0)).toMatchObject({
    scheme: "Bearer",
    scope: "a b",
    expiresAt: 60,
  });
  expect(() => accessTokenOf({ ...rest, token_type: "mac" }, undefined)).toThrow("unknown type");
  expect(() => accessTokenOf(rest, undefined)).toThrow("unknown type");
});
