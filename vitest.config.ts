import { defineConfig } from "vitest/config";

export default defineConfig({
  ssr: { resolve: { conditions: ["countersign"], externalConditions: ["countersign"] } },
  resolve: { conditions: ["countersign"] },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/browser/**"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
