import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endsOf } from "../../guard-sdk/src/revocation-marks.ts";
import type { Database } from "../../src/store/orm.ts";
import { databaseKinds } from "../support/database.ts";
import { claimsOf } from "../support/flow.ts";
import { type Lane, openLane, openWorld } from "./lane.ts";
import { Model } from "./model.ts";
import { type Step, sequence } from "./steps.ts";

/** Number of sequences; CI runs more than a developer does. */
const RUNS = Number(process.env.MODEL_RUNS ?? 100);
/** Sequences that run concurrently, each with a user, clients and a clock of its own, so that their statements are batched together. */
const LANES = Math.min(64, RUNS);

let database: Database;
const lanes: Lane[] = [];
let marking: NodeJS.Timeout;
beforeAll(async () => {
  // PostgreSQL where it is available: it runs on another CPU than the test.
  database = (await databaseKinds.at(-1)?.fresh()) as Database;
  const world = await openWorld(database.sql);
  marking = setInterval(() => world.ports.keys.refresh(), 30_000); // as a core marks its keys, or it may not sign
  for (let lane = 0; lane < LANES; lane++) lanes.push(await openLane(world, `m${lane}`));
});
afterAll(async () => {
  clearInterval(marking);
  await database.close();
});

/** Introspection reports the tokens that the model says are live, and no token whose parent is not live. */
async function assertStates(model: Model): Promise<void> {
  const active = await model.lane.active(model.nodes.map(({ token }) => token));
  expect(active).toEqual(model.nodes.map((node) => model.lives(node)));
  const orphans = model.nodes.filter(({ parent }, index) => parent && active[index] && !active[model.nodes.indexOf(parent)]);
  expect(orphans).toEqual([]);
}

/** A guard that reads revocation events accepts the tokens that the model says are not revoked. */
async function assertMarks(model: Model): Promise<void> {
  const events = await model.lane.world.revocationEvents();
  const ends = await Promise.all(model.nodes.map(({ token }) => endsOf(claimsOf(token))));
  expect(ends.map((digests) => digests && !events.anyEnded(digests))).toEqual(model.nodes.map((node) => model.isUnrevoked(node)));
}

/** Every effect has one audit record, and a request without effect has none. */
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

test(`random sequences: no token exceeds or outlives its parent, guards learn every revocation, and every effect has one audit record (${RUNS} sequences)`, {
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
