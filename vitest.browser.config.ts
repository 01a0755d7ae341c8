import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base from "./vitest.config.ts";

// The projects of the base configuration say which files run where; here it is one kind of file, once.
const { projects: _, ...shared } = base.test ?? {};

/** Files of a minute and more start first: one of them at the end would leave the other workers idle. */
const LONG = /\/(?:pages|more-pages|passkeys|account|console-week|console-failures|paths|twice)\.test\.ts$/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { long = [], short = [] } = Object.groupBy(await super.sort(files), ({ moduleId }) => (LONG.test(moduleId) ? "long" : "short"));
    return [...long, ...short];
  }
}

/** The tests that drive a real Chromium, which waits for pages: two files at a time, beside the model, the contract test and chaos. */
export default defineConfig({
  ...base,
  test: {
    ...shared,
    include: ["test/browser/**/*.test.ts"],
    exclude: [],
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
  },
});
