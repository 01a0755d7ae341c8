import type { AdminClient } from "@countersign/admin";
import type { Terminal } from "./terminal.ts";

/** The management API, loaded and signed in to when a command needs it. @throws {CommandFailure} */
export const managing = async (terminal: Terminal): Promise<AdminClient> => (await import("./session.ts")).signedIn(terminal);

/** All items of a paged list. @param page fetches the page at a cursor; undefined is the first page */
export async function everyPage<Item>(
  page: (at: { readonly cursor?: string }) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, nextCursor } = await page(cursor === undefined ? {} : { cursor });
    all.push(...items);
    if (nextCursor === null) return all;
    cursor = nextCursor;
  }
}
