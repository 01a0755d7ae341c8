import { expect, test } from "vitest";
import { createLog, type LogFields } from "../../../src/telemetry/log.ts";
import { prettySink } from "../../../src/telemetry/pretty.ts";

function written(level: "info" | "warn" | "error", fields: LogFields, colours = false): string {
  const lines: string[] = [];
  const log = createLog({ level: "debug", role: "all", sink: prettySink({ write: (line) => lines.push(line) }, colours) });
  log[level]("mail_written", fields);
  return lines.join("");
}

test("a line has time, level, event and fields, without process and role", () => {
  expect(written("info", { path: "/data/outbox/m.eml", count: 2 })).toMatch(
    /^\d\d:\d\d:\d\d info {2}mail_written path=\/data\/outbox\/m\.eml count=2\n$/,
  );
});

test("values with spaces are quoted", () => {
  expect(written("warn", { scope: "a b" })).toContain('warn  mail_written scope="a b"\n');
});

test("an error is shown with its kind, code and first location, and those of its cause", () => {
  const cause = Object.assign(new Error("canary"), { code: "ECONNREFUSED" });
  const line = written("error", { error: new TypeError("canary", { cause }) });
  expect(line).toMatch(/mail_written\n {4}TypeError at \S*pretty\.test\.ts\S*:\d+:\d+\n {4}Error ECONNREFUSED at /);
  expect(line).not.toContain("canary");
});

test("the level is coloured when colours are enabled", () => {
  expect(written("warn", {}, true)).toContain("\u001b[33mwarn \u001b[39m");
});
