import { expect, test } from "vitest";
import { collect, moment, scopesBy } from "../../../src/cli/management-api.ts";

test.for([
  ["2028-02-29", Date.UTC(2028, 1, 29)],
  ["2026-10-31T08:30", Date.UTC(2026, 9, 31, 8, 30)],
  ["2026-03-01T00:30+02:00", Date.UTC(2026, 1, 28, 22, 30)],
  ["2026-12-31T23:59:59.5Z", Date.UTC(2026, 11, 31, 23, 59, 59, 500)],
] as const)("%s is a time", ([text, time]) => {
  expect(moment(text)).toBe(time);
});

test.for([
  "2026-02-29",
  "2026-02-30",
  "2026-02-30T08:30Z",
  "2026-04-31T08:30+02:00",
  "2026-02-32",
  "2026-13-01",
  "1969-12-31",
  "99999d",
  "7w",
])("%s is no time, and is refused before the server is asked", (text) => {
  expect(() => moment(text)).toThrow(/^must be so long ago/);
});

test("so many days ago is a time after the epoch", () => {
  expect(moment("20000d")).toBeGreaterThan(0);
});

test("one value may have several scopes, and spaces around them are none", () => {
  const scopes = scopesBy(collect);
  expect(scopes(" b  c ", scopes("a"))).toEqual(["a", "b", "c"]);
});
