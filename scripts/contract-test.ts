// Checks a running server against its own OpenAPI description with schemathesis (PyPI), as three callers.
// Usage: contract-test.ts [REPORT.json]. The report has the shape that test-summary.ts adds up: one test for each caller and operation.
// SCHEMATHESIS names the command where it is not on the PATH.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServerProcess } from "../examples/demo/server-process.ts";
import { serverDriver } from "../test/support/flow.ts";
import { type Run, resultsOf, SKIPPED, type TestResult } from "./contract-report.ts";

const CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"];
const PHASES = ["examples", "coverage", "fuzzing"];
/**
 * The run is the same every time, and bounded. One worker: two threads of Python 3.11 that parse source at once can end in a SystemError
 * (CPython issue 106905).
 */
const BOUNDS = ["--max-examples", "20", "--seed", "1", "--workers", "1", "--generation-database", "none", "--request-timeout", "20"];

const CLIENT = { clientId: "contract-client", clientSecret: "only-for-the-contract-test" };
const PROVISIONED = {
  clients: [
    {
      ...CLIENT,
      name: "Contract client",
      grantTypes: ["client_credentials"],
      tokenEndpointAuthMethod: "client_secret_basic",
      scopes: ["notes:read"],
    },
  ],
};
/** Higher than what a run sends: most of its answers would be 429 otherwise. */
const SETTINGS = { REGISTER_CLIENT_RATE_LIMIT: "100000", SIGN_UP_RATE_LIMIT: "100000" };

interface Caller {
  readonly name: string;
  readonly credential: readonly string[];
}

const callers = (accessToken: string): readonly Caller[] => [
  { name: "anonymous", credential: [] },
  { name: "developer", credential: ["--header", `Authorization: Bearer ${accessToken}`] },
  { name: "confidential client", credential: ["--auth", `${CLIENT.clientId}:${CLIENT.clientSecret}`] },
];

const command = process.env.SCHEMATHESIS ?? "schemathesis";

/** @param directory for the report and the files that schemathesis keeps  @throws {Error} when it left no report */
function check(url: string, { name, credential }: Caller, directory: string): TestResult {
  console.log(`\n== as ${name}`);
  const path = join(directory, "run.json");
  const options = ["--checks", CHECKS.join(","), "--phases", PHASES.join(","), "--continue-on-failure", "--suppress-health-check", "all"];
  const report = ["--no-color", "--warnings", "off", "--report", "json", "--report-json-path", path];
  const args = ["run", `${url}/openapi.json`, ...options, ...BOUNDS, ...report, ...credential];
  spawnSync(command, args, { cwd: directory, stdio: ["ignore", "inherit", "inherit"] });
  return resultsOf(name, JSON.parse(readFileSync(path, "utf8")) as Run);
}

async function checkAll(directory: string): Promise<readonly TestResult[]> {
  const [dataDir, provision] = [join(directory, "data"), join(directory, "provision.json")];
  writeFileSync(provision, JSON.stringify(PROVISIONED));
  const server = await startServerProcess({ ...SETTINGS, DATA_DIR: dataDir, PROVISION_FILE: provision });
  try {
    const { login } = await serverDriver(server.url, join(dataDir, "outbox")).signedInUser();
    return callers(login.access_token).map((caller) => check(server.url, caller, mkdtempSync(join(directory, "run-"))));
  } finally {
    await server.stop();
  }
}

async function main(reportPath: string | undefined): Promise<void> {
  const isInstalled = spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0;
  if (!isInstalled) console.log(`Skipped: ${SKIPPED.assertionResults[0]?.fullName}.`);
  const directory = mkdtempSync(join(tmpdir(), "countersign-contract-"));
  try {
    const testResults = isInstalled ? await checkAll(directory) : [SKIPPED];
    if (reportPath !== undefined) writeFileSync(reportPath, JSON.stringify({ testResults }));
    if (testResults.some(({ status }) => status === "failed")) process.exitCode = 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

await main(process.argv[2]);
