import { expect, test } from "vitest";
import { createLog, type LogFields } from "../../../src/telemetry/log.ts";

const collecting = (level: "debug" | "info" | "silent" = "debug") => {
  const lines: string[] = [];
  const log = createLog({ level, role: "all", sink: { write: (line) => lines.push(line) } });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? "null") };
};

test("an event is one JSON line with time, level, process and role", () => {
  const { log, lines, last } = collecting();
  log.info("http_request", { route: "/oauth/token", method: "POST", status: 200, durationMs: 3 });
  expect(lines).toHaveLength(1);
  expect(last()).toMatchObject({
    level: 30,
    role: "all",
    event: "http_request",
    route: "/oauth/token",
    method: "POST",
    status: 200,
    durationMs: 3,
  });
  expect(last().time).toMatch(/^\d{4}-\d\d-\d\dT/);
});

test("an unknown field is dropped", () => {
  const { log, lines } = collecting();
  const fields = { clientId: "crm", password: "canary", token: "canary", headers: { cookie: "canary" }, __proto__: { reason: "canary" } };
  log.info("http_request", fields as LogFields);
  expect(lines.join()).toContain('"clientId":"crm"');
  expect(lines.join()).not.toContain("canary");
});

test("a known field with a value of the wrong type is dropped", () => {
  const { log, lines } = collecting();
  log.info("http_request", { reason: { secret: "canary" }, status: "canary" } as unknown as LogFields);
  expect(lines.join()).not.toContain("canary");
});

test("an event that is not a fixed word is replaced", () => {
  const { log, last } = collecting();
  log.info("sign-in of alice@example.test");
  expect(last().event).toBe("unnamed_event");
});

test("control and bidirectional characters are replaced, and long values are cut", () => {
  const { log, lines, last } = collecting();
  log.warn("refused", { clientId: 'a\r\n{"level":60}\u001b[2J\u202e', reason: "x".repeat(1000) });
  expect(lines.join("").split("\n")).toHaveLength(2); // the line and the empty rest
  expect(last().clientId).toBe('a??{"level":60}?[2J?');
  expect(last().reason).toHaveLength(256);
});

test("queries of URLs are not logged", () => {
  const { log, last } = collecting();
  log.info("http_request", { route: "/auth/verify?token=canary", clientId: "https://c.example.test/id?secret=canary#x" });
  expect(last()).toMatchObject({ route: "/auth/verify", clientId: "https://c.example.test/id" });
});

test("an error is logged with its kind, code, names and stack positions, without its message", () => {
  const { log, lines, last } = collecting();
  const cause = Object.assign(new TypeError('received "canary"\n    at canary (/src/x.ts:1:1)'), { detail: "Key (hash)=(canary)" });
  const error = Object.assign(new Error("insert into t values ('canary')", { cause }), {
    code: "23505",
    constraint: "clients_pkey",
    query: "canary",
  });
  log.error("fault", { error });
  expect(lines.join()).not.toContain("canary");
  expect(last().error).toMatchObject({ kind: "Error", code: "23505", constraint: "clients_pkey", cause: { kind: "TypeError" } });
  expect(last().error.at[0]).toMatch(/log\.test\.ts\S*:\d+:\d+$/);
});

test("a thrown value that is not an error is logged by its type only", () => {
  const { log, last } = collecting();
  log.error("fault", { error: "canary" });
  expect(last().error).toEqual({ kind: "string" });
});

test("levels below the configured one are not logged", () => {
  const info = collecting("info");
  info.log.debug?.("detail");
  const silent = collecting("silent");
  silent.log.error("fault");
  expect([info.lines, silent.lines]).toEqual([[], []]);
});

test("an error of the sink does not reach the caller", () => {
  const log = createLog({
    level: "info",
    sink: {
      write: () => {
        throw new Error("disk full");
      },
    },
  });
  expect(() => log.info("http_request")).not.toThrow();
});
