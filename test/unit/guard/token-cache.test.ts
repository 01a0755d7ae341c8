import { expect, test } from "vitest";
import { type Remembered, tokenCache } from "../../../guard-sdk/src/token-cache.ts";

const aToken = (sub: string, expiresAt = 100): Remembered => ({
  principal: { sub, clientId: undefined, scopes: [], actors: [], audience: [], expiresAt, issuer: "https://as.example" },
});

test("a token is cached until the second of its expiry", () => {
  const cache = tokenCache(10);
  cache.set("d", aToken("ada", 100));
  expect([cache.get("d", 99)?.principal.sub, cache.get("d", 100), cache.get("d", 99)]).toEqual(["ada", undefined, undefined]);
});

test("the least recently used token is removed first", () => {
  const cache = tokenCache(2);
  cache.set("a", aToken("a"));
  cache.set("b", aToken("b"));
  cache.get("a", 0);
  cache.set("c", aToken("c"));
  expect(["a", "b", "c"].map((digest) => cache.get(digest, 0)?.principal.sub)).toEqual(["a", undefined, "c"]);
});

test("a cache of size 0 keeps nothing", () => {
  const cache = tokenCache(0);
  cache.set("a", aToken("a"));
  expect(cache.get("a", 0)).toBeUndefined();
});
