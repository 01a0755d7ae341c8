import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

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
  "test/rfc/{oidc-authorize,oidc-logout,resource-records,rfc8628-device,users-authorize,users-security}.test.ts",
  "test/rfc/spec-s2.12-*.test.ts",
  "test/rfc/spec-s4.6-*.test.ts",
  "test/rfc/spec-s4.7-*.test.ts",
  "test/rfc/spec-s4.8-*.test.ts",
  "test/rfc/spec-s9-*.test.ts",
  "test/interop/{grpc-introspection,mcp-step-up,oauth4webapi,openid-client}.test.ts",
];

/** Suites that need PostgreSQL, or minutes: `npm run test:storage` runs them. */
const WITH_STORAGE = ["test/store/plans.test.ts", "test/rfc/contract-stopped-core.test.ts", "test/rfc/contract-crowded-sign-in.test.ts"];

/** Starts the files that wait for processes first: one of them at the end would leave the other workers idle for a minute. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const startsProcesses = ({ moduleId }: TestSpecification) => /\/contract-[^/]*$/.test(moduleId);
    const sorted = await super.sort(files);
    return [...sorted.filter(startsProcesses), ...sorted.filter((file) => !startsProcesses(file))];
  }
}

const project = (name: string, include: string[], env: Record<string, string> = {}, exclude: string[] = []) => ({
  extends: true as const,
  test: { name, include, exclude, env },
});

export default defineConfig({
  ssr: { resolve: { conditions: ["countersign"], externalConditions: ["countersign"] } },
  resolve: { conditions: ["countersign"] },
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    // A worker loads the server's modules once for all of its files, not once for each.
    isolate: false,
    // One more than the cores of a small machine: a quarter of the time is spent waiting.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      project("one process", ["test/**/*.test.ts"], { TEST_SHAPE: "one" }, ["test/browser/**", ...WITH_STORAGE]),
      project("front and core", OVER_GRPC, { TEST_SHAPE: "split" }),
    ],
  },
});
