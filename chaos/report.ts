import type { Verdict } from "./auditor.ts";
import type { Entry, Journal } from "./journal.ts";

/** What was done and found in a run. */
export interface Report {
  readonly seconds: number;
  readonly kills: Readonly<Record<string, number>>;
  /** Faults that could not happen here, with the reason. */
  readonly skipped: Readonly<Record<string, string>>;
  readonly races: { readonly callers: number; readonly count: number };
  readonly faults: readonly FaultRow[];
  readonly verdicts: readonly Verdict[];
}

interface FaultRow {
  readonly fault: string;
  readonly requests: number;
  readonly answered: number;
  readonly refused: number;
  readonly lost: number;
  readonly wrong: number;
  readonly p50: number;
  readonly p99: number;
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");

function faultRow(fault: string, entries: readonly Entry[]): FaultRow {
  const counted = (holds: (entry: Entry) => boolean) => entries.filter(holds).length;
  const times = entries.map(({ took }) => took).sort((one, other) => one - other);
  const at = (share: number) => Math.round(times[Math.floor(times.length * share)] ?? 0);
  const [refused, lost, wrong] = [
    counted(({ status }) => status === 503),
    counted(({ status }) => status === undefined),
    counted(({ expected }) => !expected),
  ];
  const answered = entries.length - refused - lost - wrong;
  return { fault, requests: entries.length, answered, refused, lost, wrong, p50: at(0.5), p99: at(0.99) };
}

/** A row for each fault, in the order in which they first happened. */
export const faultRows = ({ entries }: Journal): readonly FaultRow[] =>
  [...Map.groupBy(entries, ({ fault }) => fault)].map(([fault, each]) => faultRow(fault, each));

export const hasContradictions = ({ verdicts }: Report): boolean => verdicts.some(({ contradictions }) => contradictions.length > 0);

/** Each claim as a test, in the shape that scripts/test-summary.ts adds up. */
export function asTests(report: Report) {
  const assertionResults = report.verdicts.map(({ claim, contradictions }) => ({
    status: contradictions.length === 0 ? "passed" : "failed",
    fullName: `beside faults: ${claim}`,
  }));
  return { testResults: [{ status: hasContradictions(report) ? "failed" : "passed", assertionResults }] };
}

export function asText({ seconds, kills, skipped, races, faults, verdicts }: Report): string {
  const killed = Object.entries(kills);
  const total = killed.reduce((sum, [, count]) => sum + count, 0);
  const parts = [
    table(
      ["fault", "requests", "answered", "503", "no answer", "wrong", "p50 ms", "p99 ms"],
      faults.map((one) => [one.fault, one.requests, one.answered, one.refused, one.lost, one.wrong, one.p50, one.p99]),
    ),
    table(
      ["claim", "examined", "contradictions", "examples"],
      verdicts.map(({ claim, examined, contradictions }) => [
        claim,
        examined,
        contradictions.length,
        [...new Set(contradictions)].slice(0, 3).join("; "),
      ]),
    ),
    `${Math.round(seconds)} seconds. ${total} kills: ${killed.map(([name, count]) => `${count} × ${name}`).join(", ")}.`,
    `${races.count} races of ${races.callers} requests each.`,
    ...Object.entries(skipped).map(([fault, reason]) => `Left out: ${fault}: ${reason}.`),
  ];
  return `${parts.join("\n\n")}\n`;
}
