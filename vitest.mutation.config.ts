import { defineConfig } from "vitest/config";
import base from "./vitest.config.ts";

// Stryker takes one project: the tests that run in this process alone, in seconds.
const { projects: _, ...shared } = base.test ?? {};

/** What the mutation run runs for each mutant; it may not wait, or a mutant would take minutes. */
export default defineConfig({
  ...base,
  test: {
    ...shared,
    include: ["test/unit/{core,front}/**/*.test.ts", "test/rfc/front-{discovery,edge,oauth,register,system}.test.ts"],
    maxWorkers: 1,
    execArgv: [], // Stryker runs them in threads, which take no sizes of the heap
    // A mutant that leaves a request without an answer fails its test before Stryker has to start a new worker.
    testTimeout: 2_500,
    hookTimeout: 2_500,
  },
});
