import { expect, test } from "vitest";
import { batchAfter, liveAudit, matches } from "../../../src/management/live.ts";
import type { LiveBatch, LiveRecord } from "../../../src/management/report-ports.ts";

const aRecord = (seq: number, members: Partial<LiveRecord> = {}): LiveRecord => ({
  ...{ id: `id-${seq}`, at: seq, event: "token.issued", outcome: "success", actor: { type: "client", id: "notes" } },
  ...{ link: { seq, hash: "h" }, ownerId: null, ...members },
});
const numbers = ({ records }: LiveBatch) => records.map(({ link }) => link.seq);

test.for([
  { position: 9, records: [10, 11, 12], missed: 0 },
  { position: 11, records: [12], missed: 0 },
  { position: 12, records: [], missed: 0 },
  { position: 4, records: [10, 11, 12], missed: 5 },
])("a listener that has $position of 10 to 12 gets $records and missed $missed", ({ position, records, missed }) => {
  const batch = batchAfter([aRecord(10), aRecord(11), aRecord(12)], 12, position);
  expect([numbers(batch), batch.missed, batch.reached]).toEqual([records, missed, 12]);
});

test("filters of the list apply to live records", () => {
  const record = aRecord(5, { reason: "code_expired", clientId: "notes", resources: ["https://a.test/", "https://b.test/"] });
  for (const filter of [
    {},
    { reason: "code_expired", clientId: "notes" },
    { actorId: ["notes"] },
    { search: ["NOTES", "notes"] },
    { since: 5, until: 6 },
    { resource: "https://b.test/" },
    { resource: "https://b.test" },
  ])
    expect(matches(record, filter)).toBe(true);
  for (const filter of [
    { clientId: "other" },
    { actorId: ["other"] },
    { search: ["code_expired"] },
    { since: 6 },
    { until: 5 },
    { userId: "u" },
    { resource: "https://c.test" },
  ])
    expect(matches(record, filter)).toBe(false);
});

/** A log of which a test decides how long it is, and a channel that looks at it. */
function aLog({ keep = 10, length = 0 } = {}) {
  const log = { length, reads: 0, failing: false, draining: false };
  const read = async (after: number | undefined, limit: number) => {
    log.reads += 1;
    if (log.failing) throw new Error("the database is away");
    const from = after ?? Math.max(0, log.length - limit);
    return Array.from({ length: Math.min(limit, log.length - from) }, (_, index) => aRecord(from + index + 1));
  };
  const errors: unknown[] = [];
  const live = liveAudit({ read, draining: () => log.draining, failed: (error) => errors.push(error) }, 1, keep);
  return { log, live, errors };
}

const nextOf = async (listener: AsyncGenerator<LiveBatch, void>): Promise<LiveBatch> => {
  const { value } = await listener.next();
  if (value === undefined) throw new Error("the channel has ended");
  return value;
};

test("each listener gets each later record once", async () => {
  const { log, live } = aLog({ length: 3 });
  const listener = live.listen(undefined);
  expect(numbers(await nextOf(listener))).toEqual([]);
  log.length = 5;
  expect(numbers(await nextOf(listener))).toEqual([4, 5]);
  log.length = 6;
  expect(numbers(await nextOf(listener))).toEqual([6]);
  await listener.return();
});

test("a listener resumes after the record that it names, also while others listen", async () => {
  const { live } = aLog({ length: 8 });
  const one = live.listen(6);
  expect(numbers(await nextOf(one))).toEqual([7, 8]);
  const other = live.listen(2);
  expect(numbers(await nextOf(other))).toEqual([3, 4, 5, 6, 7, 8]);
  await Promise.all([one.return(), other.return()]);
});

test("a slow listener learns how many records it missed, and the buffer does not grow", async () => {
  const { log, live } = aLog();
  const [slow, quick] = [live.listen(undefined), live.listen(undefined)];
  await Promise.all([nextOf(slow), nextOf(quick)]);
  for (let length = 7; length <= 35; length += 7) {
    log.length = length;
    await nextOf(quick);
  }
  const batch = await nextOf(slow);
  expect([batch.missed, numbers(batch)]).toEqual([25, [26, 27, 28, 29, 30, 31, 32, 33, 34, 35]]);
  await Promise.all([slow.return(), quick.return()]);
});

test("more records than one look reads are skipped, and counted as missed", async () => {
  const { log, live } = aLog();
  const listener = live.listen(undefined);
  await nextOf(listener);
  log.length = 100;
  const batches = [await nextOf(listener), await nextOf(listener)];
  const got = batches.reduce((sum, batch) => sum + batch.records.length + batch.missed, 0);
  expect([got, batches.at(-1)?.reached]).toEqual([100, 100]);
  await listener.return();
});

test("the database is not asked without listeners, and asked again by the next one", async () => {
  const { log, live } = aLog({ length: 2 });
  const listener = live.listen(undefined);
  await nextOf(listener);
  await listener.return();
  const { reads } = log;
  log.length = 4;
  const later = live.listen(2);
  expect([numbers(await nextOf(later)), log.reads]).toEqual([[3, 4], reads + 1]);
  await later.return();
});

test("a look that fails is reported, and the next one goes on", async () => {
  const { log, live, errors } = aLog();
  const listener = live.listen(undefined);
  await nextOf(listener);
  log.failing = true;
  expect(numbers(await nextOf(listener))).toEqual([]);
  log.failing = false;
  log.length = 1;
  expect([numbers(await nextOf(listener)), errors.length]).toEqual([[1], 1]);
  await listener.return();
});

test("a shutdown ends the channel with an error that clients retry", async () => {
  const { log, live } = aLog();
  const listener = live.listen(undefined);
  await nextOf(listener);
  log.draining = true;
  await expect(listener.next()).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "shutting_down" });
});

test("a developer has at most 50 listeners at a time, and no other user is refused for them", async () => {
  const { live } = aLog({ length: 3 });
  const listeners = Array.from({ length: 50 }, () => live.listen(undefined, "ada"));
  for (const listener of listeners) await nextOf(listener);
  await expect(live.listen(undefined, "ada").next()).rejects.toMatchObject({ reason: "too_many_listeners" });
  for (const other of [live.listen(undefined, "grace"), live.listen(undefined)]) {
    await nextOf(other);
    await other.return();
  }
  await listeners[0]?.return();
  await nextOf(live.listen(undefined, "ada"));
});

test("however many listeners developers have, an operator has a place", async () => {
  const { log, live } = aLog({ length: 5 });
  const listeners = Array.from({ length: 2_000 }, (_, n) => live.listen(undefined, `developer-${n % 40}`));
  await Promise.all(listeners.map(nextOf));
  await expect(live.listen(undefined, "one more").next()).rejects.toMatchObject({ reason: "too_many_listeners" });
  const operator = live.listen(undefined);
  await nextOf(operator);
  log.draining = true;
  await Promise.all([...listeners, operator].map((listener) => listener.next().catch(() => undefined)));
});
