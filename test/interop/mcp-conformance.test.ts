import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { scratch } from "../support/packed.ts";

const root = join(import.meta.dirname, "../..");
const { dir, remove } = scratch();
afterAll(remove);

/** The scenarios of the MCP conformance suite for what the agent library does. */
const SCENARIOS = [
  "auth/client-credentials-basic",
  "auth/client-credentials-jwt",
  "auth/wif-jwt-bearer",
  "auth/enterprise-managed-authorization",
  "auth/dpop",
  "auth/dpop-nonce",
];

test.for(SCENARIOS)("the agent library passes %s", async (scenario) => {
  const client = `${process.execPath} --conditions=countersign ${join(root, "test/support/conformance-client.ts")}`;
  const args = [join(root, "node_modules/.bin/conformance"), "client", "--command", client, "--scenario", scenario];
  const outcome = await promisify(execFile)(process.execPath, args, { cwd: dir }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  expect(outcome.stdout + outcome.stderr).toMatch(/^Passed: (\d+)\/\1, 0 failed, 0 warnings$/m);
});
