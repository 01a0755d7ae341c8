import { expect, test } from "vitest";
import type { RevocationEvent } from "../../../src/core/revocation.ts";
import { type RevocationPage, revocationFeed } from "../../../src/grpc/revocation-streams.ts";

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
