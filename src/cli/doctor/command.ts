import { type Command, InvalidArgumentError } from "commander";
import { everyPage, managing } from "../management-api.ts";
import { asJson } from "../table.ts";
import { running, type Terminal } from "../terminal.ts";
import type { Finding } from "./finding.ts";

function address(value: string): string {
  const url = /^https?:\/\/[^/]/i.test(value) ? URL.parse(value) : null;
  if (url === null) throw new InvalidArgumentError("It is not a URL: give one such as https://id.example.org.");
  if (url.username !== "" || url.password !== "") throw new InvalidArgumentError("It has a user name or a password: give it without.");
  return value.replace(/#.*$/s, "");
}

const COLOURS = { ok: "green", warning: "yellow", fault: "red" } as const;

const EXAMPLES = `
Examples:
  countersign doctor                                 the server at COUNTERSIGN_URL, with what only its operators see
  countersign doctor https://id.example.org          an authorization server
  countersign doctor https://mcp.example.org/mcp     an MCP server, its authorization servers, and what MCP hosts need
  countersign doctor https://id.example.org --json   one JSON document, for programs

Exit codes: 0 no fault, 1 a fault; without a URL also 3 not signed in, 5 the server does not answer.`;

/** `countersign doctor URL`: checks an authorization server or a protected resource as its clients see it. */
export function registerDoctorCommand(program: Command, terminal: Terminal, databaseUrl: () => string | undefined): void {
  program
    .command("doctor")
    .argument("[url]", "an authorization server's issuer, or a protected resource, of any vendor", address)
    .description("check a server as its clients see it; without a URL the server at COUNTERSIGN_URL, also as its operator sees it")
    .option("--json", "as one JSON document")
    .addHelpText("after", EXAMPLES)
    .action(
      running(terminal, async (named: string | undefined, { json }: { readonly json?: true }) => {
        const [{ examine }, { boundedWeb }, { reportOf, reportText }] = await Promise.all([
          import("./examine.ts"),
          import("./web.ts"),
          import("./finding.ts"),
        ]);
        const own = named === undefined ? await deploymentSeen(terminal) : [];
        const examined = await examine(withoutRootPath(named ?? terminal.server().serverUrl), boundedWeb(), terminal.clock);
        const database = named === undefined ? undefined : databaseUrl(); // the server reports its own
        const more = database === undefined ? [] : await (await import("./deployment.ts")).checkDatabase(database);
        const report = reportOf(examined.url, examined.kind, [...examined.findings, ...own, ...more]);
        terminal.write(json ? asJson(report) : reportText(report, (verdict, mark) => terminal.paint(COLOURS[verdict], mark)));
        if (report.verdict === "fault") terminal.end(1);
      }),
    );
}

/** What the server at COUNTERSIGN_URL reports about itself to an operator. @throws {CommandFailure} */
async function deploymentSeen(terminal: Terminal): Promise<readonly Finding[]> {
  const { operator } = await managing(terminal);
  const [deployment, { signingKeys }, connections, identities] = await Promise.all([
    operator.deployment.get.query(),
    operator.signingKeys.list.query(),
    everyPage("connections", (at) => operator.connections.list.query({ ...at, enabled: true })),
    everyPage("identities", (at) => operator.workloadIdentities.list.query(at)),
  ]);
  const tested = connections.map(async ({ name }) => ({ name, ...(await operator.connections.test.query({ name })) }));
  const { connectionFindings, deploymentFindings, workloadFindings } = await import("./deployment.ts");
  return [
    ...deploymentFindings(deployment, signingKeys, terminal.clock() * 1000),
    ...connectionFindings(await Promise.all(tested)),
    ...workloadFindings(identities),
  ];
}

/** Issuers are compared as texts, and those without a path are written without the slash at the end. */
const withoutRootPath = (url: string): string => (/^https?:\/\/[^/]+\/$/i.test(url) ? url.slice(0, -1) : url);
