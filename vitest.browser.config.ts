import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

const shared = { ...base, test: { ...base.test, include: ["test/browser/**/*.test.ts"], exclude: [] } };

/** The tests that drive a real Chromium, one file at a time. */
export default mergeConfig(shared, defineConfig({ test: { maxWorkers: 1, testTimeout: 60_000 } }));
