import { expect, test } from "vitest";
import { databaseOutages } from "../../../src/compose/database-outages.ts";
import { storageUnavailable } from "../../../src/store/availability.ts";
import type { LogFields } from "../../../src/telemetry/log.ts";

const refused = storageUnavailable(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }));

test("an outage of the database is logged once, with its code, and its end once", () => {
  const lines: [string, LogFields | undefined][] = [];
  const note = (event: string, fields?: LogFields) => void lines.push([event, fields]);
  const { answered, unanswered, failed } = databaseOutages({ info: note, warn: note });
  answered();
  failed(refused, "removal"); // before anyone knows that it is the database
  unanswered(refused);
  unanswered(refused);
  failed(refused, "removal");
  const fault = new Error("a fault of the work itself");
  failed(fault, "removal");
  failed(fault);
  answered();
  answered();
  failed(refused, "removal"); // a single statement that was late
  unanswered(storageUnavailable(new Error("timeout exceeded when trying to connect")));
  expect(lines).toEqual([
    ["background_work_failed", { error: refused, work: "removal" }],
    ["database_away", { code: "ECONNREFUSED" }],
    ["background_work_failed", { error: fault, work: "removal" }],
    ["background_work_failed", { error: fault }],
    ["database_back", undefined],
    ["background_work_failed", { error: refused, work: "removal" }],
    ["database_away", {}],
  ]);
});
