import { defineConfig } from "vitest/config";
import base from "./vitest.config.ts";

// The projects of the base configuration say which files run where; here it is one kind of file, once.
const { projects: _, ...shared } = base.test ?? {};

/** The tests that drive a real Chromium, one file at a time. */
export default defineConfig({
  ...base,
  test: { ...shared, include: ["test/browser/**/*.test.ts"], exclude: [], maxWorkers: 1, testTimeout: 60_000 },
});
