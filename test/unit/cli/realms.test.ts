import type { AdminClient } from "@countersign/admin";
import { expect, test } from "vitest";
import { realmColumn } from "../../../src/cli/realms.ts";

const admin = (query: () => Promise<object>) => ({ operator: { realms: { list: { query } } } }) as unknown as AdminClient;

test("a realm is shown by its name", async () => {
  const column = await realmColumn(admin(async () => ({ realms: [{ id: "1", name: "guests" }], nextCursor: null })));
  expect(column({ realmId: "1" })).toBe("guests");
});

test("what a command has done is shown with the realm's id where names cannot be read", async () => {
  const column = await realmColumn(
    admin(async () => {
      throw new Error("503");
    }),
  );
  expect(column({ realmId: "1" })).toBe("1");
});
