import { expect, test } from "vitest";
import { cursorAt, type NamedSort, positionOf } from "../../../src/store/list-query.ts";

const expires: NamedSort = { name: "expires", by: "delegations.expires_at", type: "timestamptz", order: "asc" };
const id = "01900000-0000-7000-8000-0000000000d1";

test.for(["2026-11-23T08:00:00+00:00", "2026-11-23T10:00:00.123456+02:00", "2026-02-28T23:59:59.5-03:30", "-infinity"])(
  "a cursor with the time %s is read",
  (value) => expect(positionOf(cursorAt({ id, value }, expires), expires)).toEqual({ id, value }),
);

test.for(["1", "2026", "now", "infinity", "2026-02-31T00:00:00+00:00", "0000-01-01T00:00:00+00:00", "2026-11-23T08:00:00+23:00"])(
  "a cursor with the time %s, which PostgreSQL does not print, is refused",
  (value) =>
    expect(() => positionOf(cursorAt({ id, value }, expires), expires)).toThrow(
      expect.objectContaining({ code: "invalid_request", reason: "cursor_unusable" }),
    ),
);
