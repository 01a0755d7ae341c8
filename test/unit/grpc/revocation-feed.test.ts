import { expect, test } from "vitest";
import type { RevocationEvent } from "../../../src/core/revocation.ts";
import { type RevocationPage, revocationFeed } from "../../../src/grpc/revocation-feed.ts";

const anEvent = (sequence: string): RevocationEvent => ({
  sequence,
  kind: "client",
  key: "api",
  lifted: true,
  revokedAt: 1_000,
  expiresAt: 2_000,
});

test("an event that is visible before the first watcher comes is none of its later ones, while an open transaction holds the cursor back", async () => {
  const marks = [anEvent("1")];
  const feed = revocationFeed({ edge: async () => "5", since: async () => ({ marks: [...marks], cursor: "5", whole: false }) }, (fault) =>
    expect.unreachable(String(fault)),
  );
  const reported = Promise.withResolvers<RevocationPage>();
  const { beginning, stop } = await feed.watch(undefined, reported.resolve);
  marks.push(anEvent("2"));
  expect([beginning.marks, (await reported.promise).marks]).toEqual([[anEvent("1")], [anEvent("2")]]);
  stop();
});

/** A feed over a table at edge 100, whose readings for watchers begin when the test says so. */
function aHeldFeed() {
  const read: (string | undefined)[] = [];
  const first = Promise.withResolvers<void>();
  const feed = revocationFeed(
    {
      edge: async () => "100",
      async since(cursor) {
        if (cursor === "100") return { marks: [], cursor: "100", whole: false }; // the feed itself
        read.push(cursor);
        if (read.length === 1) await first.promise;
        return { marks: [anEvent("1")], cursor: "100", whole: cursor === undefined };
      },
    },
    (fault) => expect.unreachable(String(fault)),
  );
  const begin = async (cursor: string | undefined) => {
    const { beginning, stop } = await feed.watch(cursor, () => undefined);
    stop();
    return [beginning.marks.length, beginning.whole];
  };
  return { begin, first, read };
}

test("watchers that come during a reading share the next one, which goes back to the earliest of their cursors", async () => {
  const { begin, first, read } = aHeldFeed();
  const early = begin("90");
  await expect.poll(() => read).toEqual(["90"]);
  const later = Array.from({ length: 50 }, (_, n) => begin(String(30 + n)));
  first.resolve();
  expect(await Promise.all([early, ...later])).toEqual(Array.from({ length: 51 }, () => [1, false]));
  expect(read).toEqual(["90", "30"]);
});

test("watchers without a cursor, and those with one of another database, get all events; those beside them are not reset", async () => {
  const { begin, first, read } = aHeldFeed();
  first.resolve();
  expect(await Promise.all([begin(undefined), begin("60"), begin("101"), begin("no cursor")])).toEqual([
    [1, true],
    [1, false],
    [1, true],
    [1, true],
  ]);
  expect(read).toEqual([undefined]);
  expect(await Promise.all([begin("60"), begin("101")])).toEqual([
    [1, false],
    [1, true],
  ]);
  expect(read).toEqual([undefined, "60", undefined]);
});
