import { defineConfig } from "vitest/config";
import everything from "./vitest.config.ts";

/** What faces the storage, once more on PostgreSQL and Redis: the ports, the processes, and the black box in the shape that such a deployment has. */
const STORES = ["test/store/**/*.test.ts", "test/rfc/contract-*.test.ts"];
/** Always on the embedded database, or on none: `npm test` has run them. */
const EMBEDDED = ["test/store/embedded{,-vacuum}.test.ts", "test/rfc/contract-{processes,shutdown,wallet-off}.test.ts"];
const WITHOUT_STORAGE = "test/rfc/front-{discovery,edge,listener,oauth,register,system}.test.ts";
const BLACK_BOX = ["test/rfc/**/*.test.ts", "test/interop/**/*.test.ts"];
/** Programs and packages, which meet the same answers whatever the storage is. */
const PROGRAMS = "test/interop/{agent-documents,documents,linters,mcp-conformance,mcp-hosts,python-programs,server-package}*.test.ts";
const COMMANDS = "test/rfc/contract-every-command.test.ts";
/** Expects that no request is refused, which a machine that runs the servers of other files too cannot promise. */
const CROWD = "test/rfc/contract-beside-each-other.test.ts";

export default defineConfig({
  ...everything,
  test: {
    ...everything.test,
    // One more than the cores of a small machine: a third of the time is spent waiting for outages. With more, passwords, which are hashed at
    // a low priority in processes of their own, would have no room.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: { name: "one process", include: STORES, exclude: [COMMANDS, CROWD, ...EMBEDDED], env: { TEST_SHAPE: "one" } },
      },
      {
        extends: true,
        test: {
          name: "front and core",
          include: BLACK_BOX,
          exclude: [PROGRAMS, "test/*/guard-*", "test/rfc/contract-*", WITHOUT_STORAGE],
          env: { TEST_SHAPE: "split" },
        },
      },
      { extends: true, test: { name: "after the others", include: [CROWD], env: { TEST_SHAPE: "one" }, sequence: { groupOrder: 1 } } },
    ],
  },
});
