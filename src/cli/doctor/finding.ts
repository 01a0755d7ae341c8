import type { Finding, Report } from "../../resources/ports.ts";
import { printable } from "../table.ts";

export type { Finding, Report };

/** What a check has found, before it is said about what. */
export type CheckResult = Omit<Finding, "about">;

export const ok = (check: string, found: string): CheckResult => ({ check, verdict: "ok", found });
export const warning = (check: string, found: string, change: string): CheckResult => ({ check, verdict: "warning", found, change });
export const fault = (check: string, found: string, change: string): CheckResult => ({ check, verdict: "fault", found, change });

/** @param about the server or resource that was checked */
export const findingsAbout = (about: string, results: readonly CheckResult[]): readonly Finding[] =>
  results.map(({ check, verdict, ...result }) => ({ check, verdict, about, ...result }));

export function reportOf(url: string, kind: Report["kind"], findings: readonly Finding[]): Report {
  const has = (wanted: Finding["verdict"]) => findings.some(({ verdict }) => verdict === wanted);
  return { url, kind, verdict: has("fault") ? "fault" : has("warning") ? "warning" : "ok", findings };
}

const LONGEST = 200;

/** A value of a remote document as part of a sentence. */
export const shown = (value: unknown): string => {
  const text = printable(typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing"));
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
};

const MARKS = { ok: "ok      ", warning: "warning ", fault: "FAULT   " } as const;
const KINDS = { "authorization-server": "an authorization server", "protected-resource": "a protected resource" } as const;

export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** The report as text. @param paint colours a mark */
export function reportText({ url, kind, findings }: Report, paint: (verdict: Finding["verdict"], mark: string) => string): string {
  const lines = kind === "unknown" ? [] : [`${printable(url)} is ${KINDS[kind]}.`];
  let about: string | undefined;
  for (const finding of findings) {
    if (finding.about !== about) lines.push("", printable(finding.about));
    about = finding.about;
    lines.push(`${paint(finding.verdict, MARKS[finding.verdict])}${printable(finding.found)}`);
    if (finding.change !== undefined) lines.push(`        -> ${printable(finding.change)}`);
  }
  const count = (wanted: Finding["verdict"]) => findings.filter(({ verdict }) => verdict === wanted).length;
  lines.push("", `${counted(count("fault"), "fault")}, ${counted(count("warning"), "warning")}, ${count("ok")} ok`);
  return lines.join("\n").trimStart();
}
