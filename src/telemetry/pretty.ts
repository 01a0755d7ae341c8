import { styleText } from "node:util";
import { levels } from "pino";
import type { LogSink } from "./stdout.ts";

/** Members of a line that stand elsewhere in it, or say the same on each. */
const BESIDE = new Set(["level", "time", "pid", "role", "event", "error"]);

/** A JSON line of the log for a developer's terminal: local time, level, event, members. @param colours whether to colour the level */
function prettyLine(line: string, colours: boolean): string {
  const { level, time, event, error, ...members } = JSON.parse(line) as Readonly<Record<string, unknown>>; // pino wrote it
  const word = (levels.labels[Number(level)] ?? "info").padEnd(5);
  const loud = typeof level === "number" && level >= 50 ? "red" : level === 40 ? "yellow" : "dim";
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const rest = Object.entries(members).filter(([name]) => !BESIDE.has(name));
  const parts = [clock, colours ? styleText(loud, word, { validateStream: false }) : word, String(event)];
  const first = [...parts, ...rest.map(([name, value]) => `${name}=${shown(value)}`)].join(" ");
  return `${[first, ...errorLines(error)].join("\n    ")}\n`;
}

const shown = (value: unknown): string => (typeof value === "string" && !/[\s"=]/.test(value) ? value : JSON.stringify(value));

/** Kind, code and first location of an error, and of its causes. */
function errorLines(error: unknown): readonly string[] {
  if (typeof error !== "object" || error === null) return [];
  const { kind, code, at, cause } = error as Readonly<Record<string, unknown>>;
  const [where] = Array.isArray(at) ? at : [];
  return [[kind, code, where && `at ${where}`].filter(Boolean).join(" "), ...errorLines(cause)];
}

export const prettySink = (sink: LogSink, colours: boolean): LogSink => ({
  ...sink,
  write: (line) => sink.write(prettyLine(line, colours)),
});
