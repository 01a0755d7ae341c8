import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { requestIds } from "../../../src/front/middleware/request-id.ts";

test("no two requests of any process share an id", () => {
  const [one, other] = [requestIds(randomBytes), requestIds(randomBytes)];
  const ids = Array.from({ length: 1000 }, () => [one(), other()]).flat();
  expect(new Set(ids).size).toBe(2000);
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
});
