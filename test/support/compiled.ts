import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where Node keeps the compiled modules of workers and of processes that tests start: a start takes a third less time. */
export const COMPILED = join(tmpdir(), "countersign-test-compiled");
