// Replaces two fronts and two cores of an earlier commit by those of this checkout under load, and goes back, without a failed request.
// Usage: TEST_DATABASE_URL=… npm run upgrade [-- COMMIT]; by default the last release. Needs nginx. Takes about three minutes.
import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { serverDriver } from "../test/support/flow.ts";
import { freePort } from "../test/support/free-port.ts";
import { nginxBefore } from "../test/support/nginx.ts";
import { emptyPostgresDatabase, TEST_DATABASE_URL } from "../test/support/postgres.ts";
import {
  aDirectory,
  countersign,
  endProcesses,
  named,
  pause,
  provisionFile,
  type ServiceProcess,
  startProcess,
} from "../test/support/processes.ts";
import { audit, type Verdict } from "./auditor.ts";
import { type Entry, newJournal } from "./journal.ts";
import { prepareLoad, startLoad } from "./load.ts";
import { PLAN, rotation } from "./service.ts";

const NAME = "cores.example.test";
const HOSTS = ["127.0.0.1", "127.0.0.2"];
/** Requests per second, and milliseconds of calm after each step. */
const [RATE, CALM] = [40, 2_000];

const root = join(import.meta.dirname, "..");
const git = (...args: readonly string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

/** A checkout of a commit, with the packages of this one. */
function checkout(commit: string): string {
  const directory = join(aDirectory(), "earlier");
  git("worktree", "add", "--detach", directory, commit);
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  return directory;
}

interface Part {
  readonly name: string;
  process: ServiceProcess;
  /** @param from the checkout whose source it runs */
  start(from: string): Promise<ServiceProcess>;
}

/** Two fronts and two cores behind deploy/proxy.conf. */
async function startService(databaseUrl: string, from: string) {
  const [first, second, grpc, port] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const dataDir = aDirectory();
  const shared = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    JWT_ISSUER: `http://localhost:${port}`,
    TOKEN_CORE_SECRET: "the secret of the fronts of this run",
    PROVISION_FILE: provisionFile(PLAN),
    TRUST_PROXY: "true",
  };
  const { first: key } = rotation();
  const ofCores = HOSTS.map((GRPC_HOST) => ({ ...shared, ...key, GRPC_HOST, GRPC_PORT: `${grpc}` }));
  const ofFronts = [first, second].map((own) => ({
    ...shared,
    PORT: `${own}`,
    TOKEN_CORE_URL: `http://${NAME}:${grpc}`,
    ...named(NAME, HOSTS),
  }));
  const parts: Part[] = [];
  const add = async (role: "core" | "front", settings: Record<string, string>) => {
    const start = (source: string) => startProcess(settings, role, source);
    parts.push({ name: `${role} ${parts.filter(({ name }) => name.startsWith(role)).length + 1}`, process: await start(from), start });
  };
  for (const settings of ofCores) await add("core", settings);
  for (const settings of ofFronts) await add("front", settings);
  const nginx = await nginxBefore(
    [first, second].map((own) => `localhost:${own}`),
    HOSTS.map((host) => `${host}:${grpc}`),
    port,
  );
  return { parts, nginx, driver: serverDriver(shared.JWT_ISSUER, join(dataDir, "outbox")), migration: { ...shared, ...key } };
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

const failed = ({ status, expected }: Entry): boolean => status === undefined || status === 503 || !expected;

function print(all: readonly Entry[], steps: readonly string[], verdicts: readonly Verdict[]): void {
  const rows = steps.map((step) => {
    const entries = all.filter(({ fault }) => fault === step);
    const slowest = Math.round(Math.max(0, ...entries.map(({ took }) => took)));
    return row([step, entries.length, entries.filter(failed).length, slowest]);
  });
  const judged = verdicts.map(({ claim, examined, contradictions }) => row([claim, examined, contradictions.slice(0, 3).join("; ") || 0]));
  const table = [row(["step", "requests", "failed", "slowest ms"]), row(["---", "---", "---", "---"]), ...rows];
  process.stdout.write([...table, "", row(["claim", "examined", "contradictions"]), row(["---", "---", "---"]), ...judged, ""].join("\n"));
}

async function run(earlier: string, databaseUrl: string): Promise<boolean> {
  const service = await startService(databaseUrl, earlier);
  const journal = newJournal([service.driver]);
  const { requests, known } = await prepareLoad(service.driver, journal);
  const stop = startLoad(requests, RATE, ["signIn"]); // nginx gives all users one address, which sign-ins are counted by
  const steps: string[] = [];
  const step = async (name: string, happen: () => Promise<unknown>) => {
    steps.push(name);
    journal.fault = name;
    await happen();
    await pause(CALM);
  };
  const replaceAll = async (parts: readonly Part[], word: string, from: string) => {
    for (const part of parts) {
      await step(`${part.name} ${word}`, async () => {
        part.process.child.kill("SIGTERM");
        await part.process.ended;
        part.process = await part.start(from);
      });
    }
  };
  try {
    await step("the earlier version", () => pause(CALM));
    await step("the migration", async () => {
      const { code, said } = await countersign(["migrate"], service.migration);
      if (code !== 0) throw new Error(said);
    });
    await replaceAll(service.parts, "is replaced", root);
    await replaceAll(service.parts.toReversed(), "goes back", earlier);
    const unprepared = await stop();
    const verdicts = await audit(journal, known, [service.driver], databaseUrl);
    print(journal.entries, steps, verdicts);
    process.stdout.write(`\n${unprepared} requests were not sent, as where the page of one release was answered to the other.\n`);
    return !journal.entries.some(failed) && verdicts.every(({ contradictions }) => contradictions.length === 0);
  } finally {
    await stop();
    await service.nginx.close();
  }
}

if (TEST_DATABASE_URL === undefined)
  throw new Error("TEST_DATABASE_URL is not set: name a PostgreSQL server on which databases may be created");
const [lastTag] = git("tag", "--list", "--sort=-creatordate").split("\n");
const commit = process.argv[2] ?? lastTag;
if (!commit) throw new Error("no release is tagged in this checkout: name the commit of an earlier version");
const earlier = checkout(commit);
const database = await emptyPostgresDatabase(TEST_DATABASE_URL);
try {
  process.exitCode = (await run(earlier, database.url)) ? 0 : 1;
} finally {
  await endProcesses();
  await database.drop();
  git("worktree", "prune");
}
