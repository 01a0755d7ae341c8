// Breaks a service of two fronts and two cores under load, and compares what its clients were answered with what it knows in the end.
// Usage: npm run chaos [-- --ci | --long] [--kills n] [--races n] [--json file] [--tests file]. Needs PostgreSQL and Redis of Debian; root for the full disk.
// docs/chaos.md says how long each takes. SIGINT ends a run early, with an audit.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { pause } from "../test/support/processes.ts";
import { audit } from "./auditor.ts";
import { type Fault, faults, repaired } from "./faults.ts";
import { newJournal } from "./journal.ts";
import { prepareLoad, startLoad } from "./load.ts";
import { preparedLinks } from "./prepared.ts";
import { RACES, race } from "./races.ts";
import { asTests, asText, faultRows, hasContradictions } from "./report.ts";
import { rotation, type Service, startService } from "./service.ts";

const { values: given } = parseArgs({
  options: {
    ci: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    kills: { type: "string", default: "500" },
    races: { type: "string", default: "1000" },
    json: { type: "string" },
    tests: { type: "string" },
  },
});
const form = given.long ? "long" : given.ci ? "ci" : "short";

/** Requests per second; requests of a race; milliseconds between races, before and after a fault, of a freeze, between restarts. */
const { rate, callers, gap, calm, ...timing } = {
  ci: { rate: 40, callers: 16, gap: 50, calm: 400, frozen: 1_500, between: 0 },
  short: { rate: 40, callers: 32, gap: 100, calm: 1_500, frozen: 4_000, between: 1_000 },
  long: { rate: 30, callers: 64, gap: 100, calm: 1_000, frozen: 4_500, between: 1_000 },
}[form];
/** In a long run, kills between two faults of another kind, and other faults between two key rotations. */
const KILLS_BETWEEN = 8;
const ROTATE_EVERY = 12;

let ended = false;
process.once("SIGINT", () => {
  ended = true;
});

const keys = rotation();
const began = performance.now();
const progress = (what: string): unknown => process.stderr.write(`${((performance.now() - began) / 1_000).toFixed(1)} s: ${what}\n`);

/** The faults of this form, in their order. */
function* course(all: ReturnType<typeof faults>): Generator<Fault> {
  const others = [...all.freezes, ...all.partitions, all.disk, ...all.restarts];
  if (form === "ci") {
    yield* [...all.kills, ...all.freezes.slice(0, 1), ...all.partitions];
    return;
  }
  if (form === "short") {
    yield* [...all.kills, ...others, all.rotation];
    return;
  }
  for (let kill = 0, other = 0; kill < Number(given.kills); kill += 1) {
    const fault = all.oftenKilled[kill % all.oftenKilled.length];
    if (fault !== undefined) yield fault;
    if (kill % KILLS_BETWEEN !== KILLS_BETWEEN - 1) continue;
    const next = other % ROTATE_EVERY === ROTATE_EVERY - 1 ? all.rotation : others[other % others.length];
    if (next !== undefined) yield next;
    other += 1;
  }
}

async function run(service: Service): Promise<void> {
  const { site, drivers, postgres } = service;
  const journal = newJournal(drivers);
  const { requests, known, browser } = await prepareLoad(site, journal);
  const contradicted = (name: string, error: unknown): unknown =>
    journal.contradictions.push(`${name}: ${error instanceof Error ? error.message.slice(0, 200) : error}`);
  const stop = startLoad(requests, rate);
  progress("load");
  const around = { journal, site, browser, links: preparedLinks(postgres.url) };
  let faultsOver = false;
  const enough = (): boolean => faultsOver && (form !== "long" || journal.races.length >= Number(given.races) * RACES.length);
  const racing = (async () => {
    for (let n = 0; !ended && !enough(); n += 1) {
      await race(RACES[n % RACES.length] ?? "code", callers, around).catch((error: unknown) => contradicted("a race", error));
      await pause(gap);
    }
  })();
  const kills: Record<string, number> = {};
  const skipped: Record<string, string> = {};
  await pause(calm);
  for (const { name, kills: isKill, happen } of course(faults(service, keys, timing))) {
    if (ended) break;
    journal.fault = name;
    try {
      const reason = await happen();
      if (reason !== undefined) skipped[name] = reason;
      else if (isKill) kills[name] = (kills[name] ?? 0) + 1;
    } catch (error) {
      contradicted(name, error);
      await repaired(service).catch((broken: unknown) => contradicted("a second start", broken));
    }
    progress(`${name}; ${journal.entries.length} requests, ${journal.races.length} races`);
    await pause(calm);
  }
  faultsOver = true;
  await racing;
  await stop();
  progress("audit");
  const verdicts = await audit(journal, known, drivers, postgres.url);
  const seconds = (performance.now() - began) / 1_000;
  const report = { seconds, kills, skipped, races: { callers, count: journal.races.length }, faults: faultRows(journal), verdicts };
  process.stdout.write(asText(report));
  if (given.json !== undefined) writeFileSync(given.json, `${JSON.stringify({ form, ...report }, undefined, 2)}\n`);
  if (given.tests !== undefined) writeFileSync(given.tests, JSON.stringify(asTests(report)));
  process.exitCode = hasContradictions(report) ? 1 : 0;
}

const service = await startService(keys.first);
progress("service");
try {
  await run(service);
} finally {
  await service.close();
}
// Node closes what is left at the end of a process, and once looped for ever over sockets that the proxies had reset.
process.exit();
