import { expect, test } from "vitest";
import { databaseOutages } from "../../../src/compose/database-outages.ts";
import { storageUnavailable } from "../../../src/store/availability.ts";
import type { LogFields } from "../../../src/telemetry/log.ts";

const refused = storageUnavailable(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }));

function logged() {
  const lines: [string, LogFields | undefined][] = [];
  const note = (event: string, fields?: LogFields) => void lines.push([event, fields]);
  const clock = { now: 0 };
  return { lines, clock, ...databaseOutages({ info: note, warn: note }, () => clock.now) };
}

test("an outage of the database is logged once, with its code, and its end once", () => {
  const { lines, clock, answered, unanswered, failed } = logged();
  answered();
  failed(refused, "removal"); // before anyone knows that it is the database
  unanswered(refused);
  unanswered(refused);
  failed(refused, "removal");
  const fault = new Error("a fault of the work itself");
  failed(fault, "removal");
  failed(fault);
  answered();
  clock.now += 3_500;
  failed(refused, "removal"); // started during the outage
  failed(fault, "removal");
  answered();
  clock.now += 3_500;
  failed(refused, "removal"); // a single statement that was late
  unanswered(storageUnavailable(new Error("timeout exceeded when trying to connect")));
  expect(lines).toEqual([
    ["background_work_failed", { error: refused, work: "removal" }],
    ["database_away", { code: "ECONNREFUSED" }],
    ["background_work_failed", { error: fault, work: "removal" }],
    ["background_work_failed", { error: fault }],
    ["database_back", undefined],
    ["background_work_failed", { error: fault, work: "removal" }],
    ["background_work_failed", { error: refused, work: "removal" }],
    ["database_away", {}],
  ]);
});

test("a full disk is logged once, with its directory, and its end once; work that it stops is not", () => {
  const { lines, answered, disk, diskIsFull, failed } = logged();
  disk(true, "/data");
  failed(refused, "removal");
  answered(); // it can be read
  failed(refused, "removal");
  expect(diskIsFull()).toBe(true);
  disk(false, "/data");
  failed(refused, "removal");
  expect(diskIsFull()).toBe(false);
  expect(lines).toEqual([
    ["disk_full", { path: "/data" }],
    ["disk_has_room", { path: "/data" }],
    ["background_work_failed", { error: refused, work: "removal" }],
  ]);
});
