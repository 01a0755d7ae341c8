import { defineConfig } from "vitest/config";

// On an older Node the workers crash without a word.
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`The tests need Node 24 or newer, but this is Node ${process.versions.node}: run them by \`npm test\`.\n`);
  process.exit(1);
}

/** Black-box suites run twice: over one process, and over front and core that talk gRPC. */
const BLACK_BOX = ["test/rfc/**/*.test.ts", "test/interop/**/*.test.ts"];

/** Suites that need PostgreSQL, or minutes: `npm run test:storage` runs them. */
const WITH_STORAGE = ["test/store/plans.test.ts", "test/rfc/contract-stopped-core.test.ts", "test/rfc/contract-crowded-sign-in.test.ts"];

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
    maxWorkers: 2,
    projects: [
      project("one process", ["test/**/*.test.ts"], { TEST_SHAPE: "one" }, ["test/browser/**", ...WITH_STORAGE]),
      project("front and core", BLACK_BOX, { TEST_SHAPE: "split" }, ["test/*/guard-*", "test/rfc/contract-*", "test/rfc/front-*"]),
    ],
  },
});
