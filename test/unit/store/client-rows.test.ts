import { expect, test } from "vitest";
import { clientDirectory } from "../../../src/store/clients.ts";
import type { Sql } from "../../../src/store/sql.ts";

/** A database in which every client_id has a row of this many characters. */
const rowsOf = (characters: number): Pick<Sql, "query"> => ({
  query: async (_, parameters) => {
    const [ids = []] = parameters as readonly (readonly string[])[];
    return ids.map((key) => ({ key, secret: null, row: JSON.stringify({ clientId: key, name: "x".repeat(characters) }) })) as never[];
  },
});

/** Whether the parsed row of a client is still there after those of others were read. */
async function isKept(characters: number, others: number): Promise<boolean> {
  const directory = clientDirectory(rowsOf(characters) as Sql);
  const first = await directory.byClientId("first");
  for (let from = 0; from < others; from += 500) {
    const ids = Array.from({ length: 500 }, (_, n) => `client-${from + n}`);
    await Promise.all(ids.map((id) => directory.byClientId(id)));
  }
  return (await directory.byClientId("first")) === first;
}

test("parsed rows of clients are kept up to a size, which strangers who register large clients do not exceed", async () => {
  expect(await isKept(1_000, 9_000)).toBe(true);
  expect(await isKept(16_000, 1_500)).toBe(false);
});
