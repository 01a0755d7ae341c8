import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endsOf } from "../../guard-sdk/src/revocation-marks.ts";
import type { Database } from "../../src/store/orm.ts";
import { databaseKinds } from "../support/database.ts";
import { claimsOf } from "../support/flow.ts";
import { type Lane, openLane, openWorld } from "./lane.ts";
import { Model } from "./model.ts";
import { type Step, sequence } from "./steps.ts";

/** Sequences; CI asks for more than a developer's run. */
const RUNS = Number(process.env.MODEL_RUNS ?? 100);
/** Sequences that run side by side, each with a user, clients and a clock of its own, so that their statements go together. */
const LANES = Math.min(64, RUNS);

let database: Database;
const lanes: Lane[] = [];
beforeAll(async () => {
  // On PostgreSQL where there is one: it works on another core than the test does.
  database = (await databaseKinds.at(-1)?.fresh()) as Database;
  const world = await openWorld(database.sql);
  for (let lane = 0; lane < LANES; lane++) lanes.push(await openLane(world, `m${lane}`));
});
afterAll(() => database.close());

/** What counts is what the model says; and by the answers alone: nothing counts of which something above does not. */
async function assertStates(model: Model): Promise<void> {
  const active = await model.lane.active(model.nodes.map(({ token }) => token));
  expect(active).toEqual(model.nodes.map((node) => model.lives(node)));
  const orphans = model.nodes.filter(({ parent }, index) => parent && active[index] && !active[model.nodes.indexOf(parent)]);
  expect(orphans).toEqual([]);
}

/** A guard that reads revocation events makes the same of every token as the model does. */
async function assertMarks(model: Model): Promise<void> {
  const events = await model.lane.world.revocationEvents();
  const ends = await Promise.all(model.nodes.map(({ token }) => endsOf(claimsOf(token))));
  expect(ends.map((digests) => digests && !events.anyEnded(digests))).toEqual(model.nodes.map((node) => model.stands(node)));
}

/** One record for every effect, and none without. */
async function assertRecords({ lane: { world }, records }: Model): Promise<void> {
  const found = await Promise.all(
    [...records.keys()].map(async (requestId) => [requestId, (await world.records(requestId)) ?? 0] as const),
  );
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(records));
}

async function run(lane: Lane, steps: readonly Step[]): Promise<void> {
  const model = new Model(lane, await lane.begin());
  for (const step of steps) {
    await step.apply(model);
    await assertStates(model);
  }
  await assertMarks(model);
  await assertRecords(model);
}

test(`whatever happens, no token is wider than its parent, none lives under what has ended, guards learn the same, and every effect has one record (${RUNS} sequences)`, {
  timeout: 60_000 + RUNS * 1_000,
}, async () => {
  const share = (lane: number) => Math.floor(RUNS / LANES) + (lane < RUNS % LANES ? 1 : 0);
  await Promise.all(
    lanes.map((lane, index) =>
      fc.assert(
        fc.asyncProperty(sequence, (steps) => run(lane, steps)),
        { numRuns: share(index) },
      ),
    ),
  );
});
