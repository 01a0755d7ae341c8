import { defineConfig } from "vitest/config";

/** Black-box suites run twice: over one process, and over front and core that talk gRPC. */
const BLACK_BOX = ["test/rfc/**/*.test.ts", "test/interop/**/*.test.ts"];

/** Suites about how long others wait under a flood: they come last, with the machine to themselves. */
export const UNDISTURBED = ["test/rfc/contract-crowded-sign-in.test.ts"];
export const undisturbed = {
  name: "undisturbed",
  include: UNDISTURBED,
  env: { TEST_SHAPE: "one" },
  maxWorkers: 1,
  sequence: { groupOrder: 1 },
};

/** Suites that need PostgreSQL: `npm run test:storage` runs them. */
const ON_POSTGRESQL = ["test/store/plans.test.ts", "test/rfc/contract-stopped-core.test.ts"];

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
    maxWorkers: 2,
    projects: [
      project("one process", ["test/**/*.test.ts"], { TEST_SHAPE: "one" }, ["test/browser/**", ...UNDISTURBED, ...ON_POSTGRESQL]),
      project("front and core", BLACK_BOX, { TEST_SHAPE: "split" }, ["test/*/guard-*", "test/rfc/contract-*", "test/rfc/front-*"]),
      { extends: true as const, test: undisturbed },
    ],
  },
});
