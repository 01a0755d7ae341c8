import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { GRANT_LABELS } from "../../src/protocol/grants.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";

const at = (path: string) => new URL(`../../deploy/${path}`, import.meta.url);
const read = (path: string) => readFileSync(at(path), "utf8");

interface Rule {
  readonly expr: string;
  readonly record?: string;
  readonly alert?: string;
  readonly annotations?: { readonly summary?: string; readonly description?: string };
}
const rules = (parse(read("prometheus-rules.yml")) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const { panels, templating } = JSON.parse(read("grafana-dashboard.json")) as {
  panels: { id: number; title: string; targets: { expr: string }[] }[];
  templating: { list: { query: string }[] };
};

/** Names that Prometheus makes of the series of a process. */
async function servedNames(): Promise<ReadonlySet<string>> {
  const text = await createMetrics(new Set(), GRANT_LABELS).text();
  const names = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name = "", type]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  );
  return new Set([...names, "up", ...rules.flatMap(({ record }) => record ?? [])]);
}

/** The metrics of an expression: names that are neither functions, keywords, labels nor units. */
const namesIn = (expr: string): readonly string[] =>
  expr
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|ignoring|on|without)\s*\([^)]*\)|"[^"]*"/g, " ")
    .match(/\b(?:up|[a-z][a-z0-9]*[_:][a-z0-9_:]+)\b(?!\s*\()/g)
    ?.filter((name) => name !== "group_left") ?? [];

test("every metric of the alerts and of the dashboard is served", async () => {
  const served = await servedNames();
  const exprs = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...templating.list.flatMap(({ query }) => /label_values\((.+),/.exec(query)?.[1] ?? []),
  ];
  const used = exprs.flatMap(namesIn);
  expect(new Set(used).size).toBeGreaterThan(12);
  expect(used.filter((name) => !served.has(name))).toEqual([]);
});

test("every expression of the alerts and of the dashboard is PromQL", () => {
  // Grafana fills these in.
  const filled = (expr: string) => expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, "x");
  const invalid = (expr: string) => {
    const errors: number[] = [];
    parser.parse(filled(expr)).iterate({ enter: ({ type, from }) => void (type.isError && errors.push(from)) });
    return errors.length > 0;
  };
  const exprs = [...rules.map(({ expr }) => expr), ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))];
  expect(exprs.filter(invalid)).toEqual([]);
  expect(["sum(rate(a[5m])", "sum by (a b) (c)"].filter(invalid)).toHaveLength(2);
});

test("every metric of the service is on the dashboard or in an alert", async () => {
  const all = read("prometheus-rules.yml") + read("grafana-dashboard.json");
  const own = [...(await servedNames())].filter((name) => /^countersign_.*(?:_total|_bucket)$/.test(name));
  expect(own.filter((name) => !all.includes(name))).toEqual([]);
});

test("a process without AUDIT_STREAM, which always reports 0, hides no waiting records", () => {
  const exprs = [...rules.map(({ expr }) => expr), ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))];
  const ofStream = exprs.filter((expr) => expr.includes("countersign_audit_stream_waiting_records"));
  expect(ofStream).toEqual([expect.stringMatching(/^max\(/), expect.stringMatching(/^max\(/)]);
});

test("alerts about a process match the job of metrics by OTLP as well: the service behind its namespace", () => {
  const jobs = rules.flatMap(({ expr }) => [...expr.matchAll(/\b(?!up\b)\w+\{job(=~?)"([^"]+)"\}/g)]);
  expect(jobs.length).toBeGreaterThan(2);
  for (const [, operator, job = ""] of jobs)
    for (const name of ["countersign", "https://id.example.com/countersign"])
      expect(operator === "=~" ? new RegExp(`^(?:${job})$`).test(name) : job === name).toBe(true);
});

test("the dashboard offers each process, also a core, which answers no HTTP requests", async () => {
  const [name] = templating.list.flatMap(({ query }) => /label_values\((\w+),/.exec(query)?.[1] ?? []);
  expect(await createMetrics(new Set(), GRANT_LABELS).text()).toContain(`\n${name}{`);
});

test("an alert neither misses the first fault of a route nor waits for a failed authentication of yesterday", () => {
  const exprOf = (name: string) => rules.find(({ alert }) => alert === name)?.expr;
  expect(exprOf("CountersignFaults")).toMatch(/ or \(.+ unless .+ offset 10m\)/);
  expect(exprOf("CountersignFailedAuthentications")).toMatch(/ unless .+ offset 1d/);
});

test("each alert says what to do: a command, a setting, an event of the log or a document", () => {
  const silent = rules.filter(
    ({ alert, annotations }) =>
      alert !== undefined && !/`[^`]+`|\b[A-Z]+_?[A-Z]{3,}\b|\b(?:docs|deploy)\//.test(annotations?.description ?? ""),
  );
  expect(silent.map(({ alert }) => alert)).toEqual([]);
});

test("alerts have a summary, and panels a number of their own", () => {
  const alerts = rules.filter(({ alert }) => alert !== undefined);
  expect(alerts.filter(({ annotations }) => annotations?.summary === undefined)).toEqual([]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

test("the systemd unit passes systemd's own check where that is installed", ({ skip }) => {
  const unit = read("countersign.service");
  expect(unit).toMatch(/^ExecStart=\S+\/countersign serve$/m);
  expect(unit).toMatch(/^TimeoutStopSec=30$/m);
  const { error, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", at("countersign.service").pathname], { encoding: "utf8" });
  if (error) skip("systemd-analyze is not installed");
  // What the unit starts is not installed here.
  const faults = stderr.split("\n").filter((line) => line.includes("countersign.service:") && !line.includes("is not executable"));
  expect(faults).toEqual([]);
});
