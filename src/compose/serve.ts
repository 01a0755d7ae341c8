import { FIRST_OPERATOR_MINUTES } from "../accounts/registration.ts";
import { compose, type Running } from "../compose.ts";
import type { Config, Role } from "../config.ts";
import { outboxDirectory } from "../outside/mail.ts";
import { createLog } from "../telemetry/log.ts";
import { prettySink } from "../telemetry/pretty.ts";
import { descriptorSink } from "../telemetry/stdout.ts";
import { assertPortsFree } from "./opening.ts";
import { isWorker, obeySupervisor } from "./worker.ts";

/** Seconds that a draining process keeps serving, so that load balancers notice before connections close. */
const LINGER: Partial<Record<NodeJS.Signals, number>> = { SIGTERM: 5, SIGINT: 0 };

/** Milliseconds after the start of a front, so that its first answers come before. A core loads its health service at once. */
const WARM_UP = 1_000;

/**
 * Serves until a signal, then drains and exits 0; a second signal exits 1 at once. After an uncaught error the state is unknown: it
 * drains as well, and exits 1.
 */
export async function serve(config: Config, role: Role): Promise<void> {
  if (config.workers > 1 && !isWorker()) {
    await assertPortsFree(config, role); // by a worker, Node would accept connections for it that nothing answers
    const { supervise } = await import("./workers.ts");
    return supervise(config.workers, createLog({ level: config.logLevel, role: "supervisor" }), LINGER);
  }
  const running = await compose(config, role, developerTerminal(config) ? { logSink: prettySink(descriptorSink(), COLOURS) } : {});
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners("error").on("error", () => undefined);

  let leaving = false;
  const leave = async (lingerSeconds: number, code: number): Promise<void> => {
    if (leaving) process.exit(1);
    leaving = true;
    await running.close(lingerSeconds).catch((error: unknown) => running.log.error("close_failed", { error }));
    running.log.flush();
    process.exit(code);
  };
  const fault = (error: unknown): void => {
    running.log.error("uncaught", { error });
    void leave(0, 1);
  };
  process.on("uncaughtException", fault);
  process.on("unhandledRejection", fault);
  const greet = async (): Promise<void> => {
    welcome(config, role, running);
    await showFirstOperatorLink(config, running).catch((error: unknown) => running.log.warn("background_work_failed", { error }));
  };
  if (isWorker()) obeySupervisor({ drain: (seconds) => void leave(seconds, 0), welcome: () => void greet() });
  else {
    // After SIGHUP, by a terminal that is closed or a reload without WORKERS, systemd starts it again.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      process.on(signal, () => {
        running.log.info("draining", { signal });
        void leave(LINGER[signal] ?? 0, 0);
      });
    }
    await greet();
  }
  // While descriptors and memory are available: a first request may find none left.
  setTimeout(() => void running.warmUp(), role === "core" ? 0 : WARM_UP).unref();
}

/** Whether this is a checkout, which has the examples. The package is built. */
const IS_CHECKOUT = import.meta.filename.endsWith(".ts");

const EXAMPLE_ISSUER = "http://localhost:3000";

/** Whether log lines are for a developer's eyes. Elsewhere they are JSON. */
const developerTerminal = ({ environment }: Config): boolean => process.stdout.isTTY && environment === "development";

const COLOURS = process.stdout.isTTY && process.stdout.hasColors();

/** Whether standard output is read by a user rather than a log collector. */
const isRead = ({ environment }: Config): boolean => process.stdout.isTTY || environment !== "production";

/** Prints the link by which the first operator opens the account. Others read logs: there, a warning says that a command prints it. */
async function showFirstOperatorLink(config: Config, { url, log, firstOperatorLink, hasOperator }: Running): Promise<void> {
  if (config.environment === "test" || url === undefined) return;
  if (!isRead(config)) {
    if (!(await hasOperator())) log.warn("no_operator", { command: "countersign setup-link" });
    return;
  }
  const link = await firstOperatorLink();
  if (link) process.stdout.write(`  Create the first operator (once, within ${FIRST_OPERATOR_MINUTES} minutes):\n    ${link}\n\n`);
}

/** Commands for a second terminal, each with what it does. Settings are named where the issuer is not the default one. */
function nextSteps(issuer: string): readonly (readonly [command: string, purpose: string])[] {
  const set = (setting: string) => (issuer === EXAMPLE_ISSUER ? "" : `${setting}=${issuer} `);
  const token = [
    `${set("COUNTERSIGN_URL")}npx countersign token --scope openid`,
    "a first token: sign up in the browser, and allow it",
  ] as const;
  if (!IS_CHECKOUT) return [token];
  return [
    token,
    [
      `${set("ISSUER")}npm run example:mcp-server`,
      "an MCP server for any MCP client, at http://localhost:4000/mcp; npm run example:mcp-client is one",
    ],
    ["npm run demo", "the whole tour, on a throw-away directory"],
  ];
}

/** Prints addresses and next steps at a terminal; nothing to a log collector. */
function welcome(config: Config, role: Role, { url, listening, grpcPort }: Running): void {
  if (!isRead(config)) return;
  const lines = [
    "",
    "  Countersign is up.",
    ...(url === undefined
      ? []
      : [
          `    front         ${listening}`,
          ...(url === listening ? [] : [`    issuer        ${url}`]),
          `    console       ${url}/console`,
          `    API reference ${url}/docs`,
          `    metadata      ${url}/.well-known/oauth-authorization-server`,
        ]),
    ...(grpcPort === undefined ? [] : [`    gRPC          ${config.grpc.host}:${grpcPort}`]),
    ...(role === "core" || url === undefined
      ? []
      : [
          "  Try next, in a second terminal:",
          ...nextSteps(url).flatMap(([command, purpose]) => [`    ${command}`, `      ${purpose}`]),
          ...(config.mail.smtpUrl === undefined ? [`  SMTP_URL is not set: mails are files under ${outboxDirectory(config.dataDir)}`] : []),
        ]),
    "",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}
