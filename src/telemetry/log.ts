import pino from "pino";
import { descriptorSink, type LogSink } from "./stdout.ts";

/** The members that a line may have besides its event, and how each is written. All others are dropped. */
const FORM = {
  requestId: "text",
  route: "text",
  method: "text",
  status: "number",
  durationMs: "number",
  code: "text",
  reason: "text",
  clientId: "text",
  scope: "text",
  resource: "text",
  /** Rule name as in `explain`. */
  rule: "text",
  /** Id of a message in the outbox: the local part of its Message-ID. */
  mailId: "text",
  auditId: "text",
  signal: "text",
  count: "number",
  seconds: "number",
  attempt: "number",
  host: "text",
  port: "number",
  path: "text",
  /** The link of a message, in development only: it is a credential. */
  link: "text",
  /** Setting name, never its value. */
  setting: "text",
  /** The setting without which `setting` has no effect. */
  needed: "text",
  /** Background work, as the metrics name it. */
  work: "text",
  /** A command that helps. */
  command: "text",
} as const satisfies Readonly<Record<string, "text" | "number">>;

export type LogFields = {
  readonly [Name in keyof typeof FORM]?: (typeof FORM)[Name] extends "number" ? number : string;
} & {
  /** Logged as kind, code and source location; messages are left out because they may quote input. */
  readonly error?: unknown;
};

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** Writes one JSON line per event. `event` is a fixed word such as `http_request`, never a built sentence. */
export type Log = ReturnType<typeof createLog>;

/**
 * @param options.level least level that is written
 * @param options.role `all`, `front` or `core`
 * @param options.sink default: standard output; its errors are ignored, since a full disk must not stop the service
 */
export function createLog(options: { readonly level: LogLevel; readonly role?: string; readonly sink?: LogSink }) {
  const sink = options.sink ?? descriptorSink();
  const guarded = {
    write: (line: string) => {
      try {
        sink.write(line);
      } catch {
        // there is nowhere left to log this
      }
    },
  };
  const base = { pid: process.pid, ...(options.role !== undefined && { role: options.role }) };
  const out = pino({ level: options.level, base, messageKey: "event", timestamp: pino.stdTimeFunctions.isoTime }, guarded);
  const at =
    (level: "debug" | "info" | "warn" | "error") =>
    (event: string, fields: LogFields = {}): void => {
      if (out.isLevelEnabled(level)) out[level](allowed(fields), /^[a-z][a-z0-9_]{0,63}$/.test(event) ? event : "unnamed_event");
    };
  return {
    /** Undefined where the level leaves its lines out, so that `log.debug?.(…)` does not gather their members. */
    debug: out.isLevelEnabled("debug") ? at("debug") : undefined,
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    /** Writes waiting lines before the process ends. */
    flush(): void {
      try {
        sink.flush?.();
      } catch {
        // as above
      }
    },
  };
}

/** Replaces control and bidirectional characters, which could forge or disguise a line. */
const shown = (value: string) => value.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?").slice(0, 256);

function allowed(fields: LogFields): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === "error" && value !== undefined) line[name] = describeError(value);
    else if (!Object.hasOwn(FORM, name)) continue;
    else if (FORM[name as keyof typeof FORM] === "number" ? typeof value === "number" : typeof value === "string")
      line[name] = typeof value === "string" ? shown(name === "route" || name === "clientId" ? withoutQuery(value) : value) : value;
  }
  return line;
}

/** Cuts off what follows `?` or `#` in client ids (CIMD) and routes: it may be private. */
const withoutQuery = (value: string) => value.replace(/[?#].*$/s, "");

/** Members of system and PostgreSQL errors that hold names, never values. */
const NAMING = ["code", "reason", "syscall", "severity", "schema", "table", "column", "constraint", "routine"] as const;

function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { kind: typeof error };
  const named = Object.fromEntries(
    NAMING.flatMap((name) => {
      const value: unknown = Reflect.get(error, name);
      return typeof value === "string" && /^[\w.: -]{1,64}$/.test(value) ? [[name, value]] : [];
    }),
  );
  const kind = /^\w{1,64}$/.test(error.name) ? error.name : "Error";
  return {
    kind,
    ...named,
    at: framesOf(error),
    ...(error.cause !== undefined && depth < 3 && { cause: describeError(error.cause, depth + 1) }),
  };
}

/** Source locations, without the message that precedes them in `stack`. */
const framesOf = (error: Error) => {
  const stack = error.stack ?? "";
  const body = stack.startsWith(`${error.name}: ${error.message}`) ? stack.slice(error.name.length + 2 + error.message.length) : stack;
  return [...body.matchAll(/^ {4}at (?:async )?[^\n]*?\(?((?:file:|node:|\/)[^\s()]+:\d+:\d+)\)?$/gm)]
    .slice(0, 8)
    .map((match) => relative(match[1] ?? ""));
};

const relative = (place: string) => place.replace(/^.*\/(?=(?:src|guard-sdk|admin|node_modules)\/)/, "");
