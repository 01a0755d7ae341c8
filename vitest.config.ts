import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { COMPILED } from "./test/support/compiled.ts";

// On an older Node the workers crash without a word.
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`The tests need Node 24 or newer, but this is Node ${process.versions.node}: run them by \`npm test\`.\n`);
  process.exit(1);
}

/**
 * Black-box suites that run a second time, over front and core that talk gRPC: at least one for each method of the token core, each grant, each
 * way of client authentication and each kind of refusal, and what counts on identifiers, addresses or clocks that cross the wire. The other
 * suites ask the same methods about other rules, or only the front. `npm run test:storage` runs every suite in this shape.
 */
const OVER_GRPC = [
  "test/rfc/{abuse-secrets,abuse-tokens,cimd-authorize,cimd-token,explain,idjag-two-servers,lifetimes,logged-refusals}.test.ts",
  "test/rfc/{oidc-authorize,oidc-logout,resource-records,rfc8628-device,rfc9126-par,rfc9449-dpop,rfc9470-step-up,users-authorize,users-security,workloads}.test.ts",
  "test/rfc/spec-s2.12-*.test.ts",
  "test/rfc/spec-s4.6-*.test.ts",
  "test/rfc/spec-s4.7-*.test.ts",
  "test/rfc/spec-s4.8-*.test.ts",
  "test/rfc/spec-s9-*.test.ts",
  "test/interop/{grpc-introspection,mcp-step-up,oauth4webapi,openid-client}.test.ts",
];

/** Suites that need PostgreSQL, or minutes: `npm run test:storage` runs them. */
const WITH_STORAGE = [
  "test/store/backup.test.ts",
  "test/store/late-commits.test.ts",
  "test/store/database-files.test.ts",
  "test/store/point-in-time.test.ts",
  "test/store/upgrade.test.ts",
  "test/store/plans.test.ts",
  "test/rfc/contract-clocks.test.ts",
  "test/store/pooler.test.ts",
  "test/rfc/contract-rolling-restart.test.ts",
  "test/rfc/contract-stopped-core.test.ts",
  "test/rfc/contract-certificates.test.ts",
  "test/rfc/contract-workers.test.ts",
  "test/rfc/contract-crowded-sign-in.test.ts",
];

/** Files that mostly wait: for processes that they start, for time that has to pass, or for a peer that is silent. */
const WAITING = new RegExp(
  `/(?:contract-[^/]*|documents-[^/]*|${[
    "abuse-floods",
    "audit-stream",
    "backchannel-logout",
    "cli-login",
    "cli-token",
    "core-peers",
    "core-stream",
    "doctor",
    "front-listener",
    "guard-introspection",
    "guarded-fetch",
    "hung-core",
    "intake",
    "issuer-document",
    "lifetimes",
    "logged-refusals",
    "mail",
    "mutual-tls",
    "password-hash",
    "resource-discovery",
    "rfc8628-device",
    "server-package",
    "sign-in-limits",
    "spec-s2.12-audit",
    "spec-s4.7-private-key-jwt",
    "telemetry",
    "upstream-sign-in",
    "users-forgotten-password",
    "users-mail",
    "workers",
  ].join("|")})\\.test\\.ts$`,
);

/** Files that wait, spread over the first three quarters: the others use the cores meanwhile. */
function spread(files: readonly TestSpecification[]): TestSpecification[] {
  const isWaiting = ({ moduleId }: TestSpecification) => WAITING.test(moduleId);
  const [waiting, computing] = [files.filter(isWaiting), files.filter((file) => !isWaiting(file))];
  const distance = Math.floor((0.75 * computing.length) / Math.max(1, waiting.length));
  const mixed = waiting.flatMap((file, at) => [file, ...computing.slice(at * distance, (at + 1) * distance)]);
  return [...mixed, ...computing.slice(waiting.length * distance)];
}

/** Runs one project after the other, the one that has files that wait first: a worker keeps its modules and databases within a project only. */
class WaitingSpread extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...projects.values()].reverse().flatMap(spread); // "one process" comes after "front and core" in the alphabet
  }
}

const project = (name: string, include: string[], env: Record<string, string>, exclude: string[] = [], execArgv: string[] = []) => ({
  extends: true as const,
  test: { name, include, exclude, env, execArgv },
});

/** To optimise the embedded database costs a worker 2 s of CPU, which half a minute of work does not earn back. */
const SHORT_LIVED = ["--liftoff-only"];

/** Without this, Vitest adds the condition `development`, by which a package may offer sources that Node does not load. */
const conditionsOfTheServer = {
  name: "conditions of the server",
  configResolved({ ssr }: { readonly ssr: { resolve?: { conditions?: string[] } } }) {
    ssr.resolve = { conditions: ["countersign"] };
  },
};

export default defineConfig({
  plugins: [conditionsOfTheServer],
  test: {
    // Processes that a test starts, and the first server of a worker, take long on a crowded machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is polled for comes at once on an idle machine, and takes seconds on a crowded one.
    expect: { poll: { timeout: 20_000 } },
    pool: "forks",
    // A worker loads the server's modules once for all of its files, not once for each.
    isolate: false,
    // More than the cores of a small machine: much of the time is spent waiting. With four, two idle cores take a tenth longer.
    maxWorkers: 5,
    // Room for young objects, which are copied less often then.
    execArgv: ["--min-semi-space-size=32", "--max-semi-space-size=64"],
    // Node itself loads the sources, as it does for the server: Vite's loader costs the unit tests two thirds more CPU.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: WaitingSpread },
    env: { NODE_COMPILE_CACHE: COMPILED },
    globalSetup: "test/support/compiled.ts",
    projects: [
      project("one process", ["test/**/*.test.ts"], { TEST_SHAPE: "one" }, ["test/browser/**", ...WITH_STORAGE]),
      project("front and core", OVER_GRPC, { TEST_SHAPE: "split" }, [], SHORT_LIVED),
    ],
  },
});
