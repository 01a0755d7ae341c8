import { expect, test } from "vitest";
import { type RealmBrandings, realmBrandings } from "../../../src/branding/branding.ts";

const named = (name: string) => ({ byRealm: new Map([["r", { name }]]), defaultRealm: undefined });

test("a read that began earlier does not replace what a later one has found", async () => {
  const reads: PromiseWithResolvers<Awaited<ReturnType<RealmBrandings>>>[] = [];
  const read = () => {
    const begun = Promise.withResolvers<Awaited<ReturnType<RealmBrandings>>>();
    reads.push(begun);
    return begun.promise;
  };
  const brandings = realmBrandings(
    {},
    read,
    () => 0,
    () => undefined,
  );
  const both = [brandings.refresh(), brandings.refresh()];
  reads[1]?.resolve(named("new"));
  await both[1];
  reads[0]?.resolve(named("old"));
  await both[0];
  expect(brandings.of("r").name).toBe("new");
});

test("a clock that was set back does not keep the brandings that are known", async () => {
  let now = 1_000_000;
  let name = "old";
  const brandings = realmBrandings(
    {},
    async () => named(name),
    () => now,
    () => undefined,
  );
  await brandings.refresh();
  name = "new";
  now -= 600;
  await brandings.current();
  expect(brandings.of("r").name).toBe("new");
});
