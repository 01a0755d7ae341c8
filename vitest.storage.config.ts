import { defineConfig } from "vitest/config";
import everything from "./vitest.config.ts";

/** What faces the storage, once more on PostgreSQL and Redis: the ports, the processes, and the black box in the shape that such a deployment has. */
const STORES = ["test/store/**/*.test.ts", "test/rfc/contract-*.test.ts", "test/rfc/front-*.test.ts"];
/** About how long others wait under a flood: these come last, with the machine to themselves. */
const UNDISTURBED = ["test/rfc/contract-crowded-sign-in.test.ts"];
const BLACK_BOX = ["test/rfc/**/*.test.ts", "test/interop/**/*.test.ts"];

export default defineConfig({
  ...everything,
  test: {
    ...everything.test,
    maxWorkers: 2, // PostgreSQL needs the rest of a small machine
    projects: [
      { extends: true, test: { name: "one process", include: STORES, exclude: UNDISTURBED, env: { TEST_SHAPE: "one" } } },
      {
        extends: true,
        test: { name: "undisturbed", include: UNDISTURBED, env: { TEST_SHAPE: "one" }, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: "front and core",
          include: BLACK_BOX,
          exclude: ["test/*/guard-*", "test/rfc/contract-*", "test/rfc/front-*"],
          env: { TEST_SHAPE: "split" },
        },
      },
    ],
  },
});
