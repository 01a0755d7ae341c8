import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { completeHelp, registerServerCommands } from "./cli/commands.ts";
import type { Shell } from "./cli/completion.ts";
import { registerKeyCommands } from "./cli/keys.ts";
import { oneOf } from "./cli/management-api.ts";
import { differencesText, provisionThroughServer } from "./cli/provision.ts";
import { asJson } from "./cli/table.ts";
import { running, systemTerminal } from "./cli/terminal.ts";
import type { GenerateOptions } from "./compose/generate-key.ts";
import type { Config, Role } from "./config.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }; // our own file

const program = new Command("countersign")
  .description("Authorization server for AI agents and MCP servers that act for users (OAuth 2.1, OpenID Connect).")
  .version(version);

// Commands write keys, databases and sessions readable by their user alone, whatever library writes them.
process.umask(0o077);

// A reader such as `head` may close the output early; that is not a fault. A full disk is one: what was written is not all.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  fail(error);
});

// In a container this is often process 1, for which the kernel ignores a signal without a listener. Later listeners replace this one.
if (process.pid === 1)
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
    });

/** Prints messages that are meant for users, and nothing else. Ends when they are written: a pipe does not take thousands of faults at once. */
function fail(error: unknown): void {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () => process.exit());
}

let readConfig: typeof import("./config.ts").loadConfig;
// Settings are read when a command runs: `--help` and `--version` do not load the code for that.
program.hook("preAction", async () => {
  ({ loadConfig: readConfig } = await import("./config.ts"));
});
const loadConfig = (role: Role | "all" | "command"): Config => readConfig(process.env, role);

/** Loads a command's code when it runs, so that `--help` and the start of the server stay quick. */
const run =
  <Args extends unknown[]>(action: (...args: Args) => Promise<void>) =>
  (...args: Args): Promise<void> =>
    action(...args).catch(fail);

/** A script that gives the value of a variable which is not set gives an empty one. */
const named = (file: string): string => {
  if (file === "") throw new InvalidArgumentError("must not be empty");
  return file;
};

program
  .command("serve")
  .description("serve HTTP and gRPC; without a role everything in this one process")
  .option("--role <role>", "front: HTTP only, uses the core at TOKEN_CORE_URL; core: gRPC only", oneOf("front", "core"))
  .action(
    run(async (options: { role?: "front" | "core" }) => {
      // A reload during the start, which reads everything: the supervisor listens once its code is loaded.
      if (Number(process.env.WORKERS) > 1) process.on("SIGHUP", () => undefined);
      const { serve } = await import("./compose/serve.ts");
      await serve(loadConfig(options.role ?? "all"), options.role ?? "all");
    }),
  );

program
  .command("migrate")
  .description("bring the database's schema up to date, and stop")
  .action(
    run(async () => {
      const { migrateOnly } = await import("./compose.ts");
      const applied = await migrateOnly(loadConfig("command"));
      console.log(applied.length === 0 ? "the schema is up to date" : `applied: ${applied.join(", ")}`);
    }),
  );

program
  .command("provision")
  .argument("<file>", "JSON; docs/provisioning.md has its members", named)
  .description(
    "create or update realms, users, workload platforms, clients, resources, connections and descriptions of scopes; deletes nothing",
  )
  .option("--server", "through the running server at COUNTERSIGN_URL, as an operator")
  .option("--dry-run", "print what would be created, changed and removed, and write nothing")
  .option("--json", "as JSON")
  .action(
    run(async (file: string, options: { server?: true; dryRun?: true; json?: true }) => {
      const { readProvisionFile } = await import("./management/provision.ts");
      if (options.server) {
        return running(terminal, provisionThroughServer)(readProvisionFile(file), terminal, options);
      }
      const { previewOnly, provisionOnly } = await import("./compose.ts");
      const { databaseWords } = await import("./compose/opening.ts");
      const plan = readProvisionFile(file);
      const config = loadConfig("command");
      if (options.dryRun) {
        const differences = await previewOnly(config, plan, file);
        return console.log(options.json ? asJson(differences) : differencesText(differences));
      }
      const done = await provisionOnly(config, plan, file);
      if (options.json) return console.log(asJson(done));
      for (const [what, { created, changed, unchanged }] of Object.entries(done)) {
        console.log(`${what}: ${created} created, ${changed} changed, ${unchanged} unchanged`);
      }
      console.log(`written to ${databaseWords(config)}`);
    }),
  );

program
  .command("branding")
  .description("your name, logo and colours on the pages")
  .command("preview")
  .description("write the pages and mails as BRAND_NAME, BRAND_LOGO and the other settings of branding make them")
  .option("--out <folder>", "where to", named, "branding-preview")
  .action(
    run(async ({ out }: { out: string }) => {
      const { writePreview } = await import("./compose/branding-preview.ts");
      console.log(`open ${writePreview(loadConfig("command"), out)}`);
    }),
  );

program
  .command("setup-link")
  .description("print a one-time link by which the first operator opens the account, where there is none yet")
  .action(
    run(async () => {
      const { setupLinkOnly } = await import("./compose.ts");
      const link = await setupLinkOnly(loadConfig("command"));
      if (link === undefined)
        throw new Error("There is an operator, who can invite others: `countersign users invite EMAIL --role operator`.");
      console.log(link);
    }),
  );

const keys = program.command("keys").description("signing keys");
keys
  .command("generate")
  .description("print a new private key with its public half as PEM, for JWT_PRIVATE_KEY and JWT_PUBLIC_KEY")
  .addOption(new Option("--rsa", "an RSA key for JWT_RSA_PRIVATE_KEY instead of Ed25519").conflicts("mlDsa"))
  .option("--ml-dsa", "an ML-DSA-65 key for JWT_MLDSA_PRIVATE_KEY instead of Ed25519")
  .option("--out <file>", "write a new file that only this user can read, instead of printing", named)
  .action(run(async (options: GenerateOptions) => (await import("./compose/generate-key.ts")).generateKey(options)));

/** Read when a command needs it: `--help` and `serve` do not. */
const terminal = systemTerminal(() => {
  const { serverUrl, signIn } = loadConfig("command");
  return { serverUrl, ...signIn };
}, process.env.XDG_CONFIG_HOME);
registerKeyCommands(keys, terminal);
registerServerCommands(program, terminal, () => loadConfig("command").databaseUrl);
program
  .command("completion")
  .addArgument(new Argument("<shell>", "the shell that reads the script").choices(["bash", "zsh", "fish"]))
  .description("print a script that completes commands and options")
  .action(run(async (shell: Shell) => void process.stdout.write((await import("./cli/completion.ts")).completionScript(program, shell))));
completeHelp(program);

program.parseAsync().catch(fail);
