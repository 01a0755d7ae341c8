import { expect, test } from "vitest";
import { freshness, isJson, isMediaType } from "../../../src/outside/guarded-fetch.ts";

const DATE = "Sat, 21 Nov 2026 10:00:00 GMT";

test.for([
  [{}, undefined],
  [{ "cache-control": "public, max-age=300" }, 300],
  [{ "cache-control": "PUBLIC, MAX-AGE=300" }, 300],
  [{ "cache-control": 'max-age="60"' }, 60],
  [{ "cache-control": "max-age=300", age: "100" }, 200],
  [{ "cache-control": "max-age=300", age: "400" }, 0],
  [{ "cache-control": "max-age=-1" }, undefined],
  [{ "cache-control": "max-age=99999999999999" }, undefined],
  [{ "cache-control": "no-store, max-age=300" }, 0],
  [{ "cache-control": "no-cache" }, 0],
  [{ "cache-control": ["public", "max-age=7"] }, 7],
  [{ expires: "Sat, 21 Nov 2026 10:05:00 GMT", date: DATE }, 300],
  [{ expires: "Sat, 21 Nov 2026 09:00:00 GMT", date: DATE }, 0],
  [{ expires: "0", date: DATE }, 0],
  [{ expires: "Sat, 21 Nov 2026 10:05:00 GMT" }, undefined],
  [{ expires: "Sat, 21 Nov 2026 10:05:00 GMT", date: DATE, "cache-control": "max-age=10" }, 10],
] as const)("RFC 9111 §4.2.1: %j is fresh for %s seconds", ([headers, expected]) => {
  expect(freshness(headers as Parameters<typeof freshness>[0])).toBe(expected);
});

test.for([
  ["application/json", true],
  ["application/json; charset=utf-8", true],
  ["Application/JSON;charset=utf-8", true],
  ["application/jwk-set+json", true],
  ["application/oauth-client-id-metadata+json", true],
  ["text/html", false],
  ["text/json", false],
  ["application/jsonp", false],
  ["application/x-json", false],
  ["text/plain; application/json", false],
  [undefined, false],
  [["application/json", "text/html"], false],
] as const)("media type %s is JSON: %s", ([type, expected]) => {
  expect(isJson(type as Parameters<typeof isJson>[0])).toBe(expected);
});

test.for([
  ["application/statuslist+jwt", true],
  ["Application/StatusList+JWT; charset=utf-8", true],
  ["application/statuslist+jwtx", false],
  ["text/plain", false],
  [undefined, false],
  [["application/statuslist+jwt", "text/html"], false],
] as const)("media type %s matches application/statuslist+jwt: %s", ([type, expected]) => {
  expect(isMediaType(type as Parameters<typeof isMediaType>[0], "application/statuslist+jwt")).toBe(expected);
});
