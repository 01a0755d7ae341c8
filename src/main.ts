import { readFileSync } from "node:fs";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { registerAuditCommands } from "./cli/audit.ts";
import { registerClientCommands } from "./cli/clients.ts";
import type { Shell } from "./cli/completion.ts";
import { registerAgentCommands, registerDelegationCommands } from "./cli/delegations.ts";
import { registerDoctorCommand } from "./cli/doctor/command.ts";
import { addExamples } from "./cli/examples.ts";
import { registerExplainCommand } from "./cli/explain.ts";
import { registerApiKeyCommands, registerKeyCommands } from "./cli/keys.ts";
import { provisionThroughServer } from "./cli/management-api.ts";
import { registerResourceCommands } from "./cli/resources.ts";
import { registerScopeCommands } from "./cli/scopes.ts";
import { registerSignInCommands } from "./cli/sign-in.ts";
import { asJson } from "./cli/table.ts";
import { running, systemTerminal } from "./cli/terminal.ts";
import { registerTokenCommand } from "./cli/token/command.ts";
import { registerRealmCommands, registerUserCommands } from "./cli/users-and-realms.ts";
import type { GenerateOptions } from "./compose/generate-key.ts";
import { ConfigError, loadConfig, type Role } from "./config.ts";
import { ProvisionError } from "./management/provision.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }; // our own file

const program = new Command("countersign")
  .description("Authorization server for AI agents and MCP servers that act for users (OAuth 2.1, OpenID Connect).")
  .version(version);

// Commands write keys, databases and sessions readable by their user alone, whatever library writes them.
process.umask(0o077);

// A reader such as `head` may close the output early; that is not a fault.
process.stdout.on("error", () => process.exit(0));

/** Prints messages that are meant for users, and nothing else. */
function fail(error: unknown): never {
  const faults =
    error instanceof ConfigError || error instanceof ProvisionError
      ? error.faults
      : [error instanceof Error ? error.message : String(error)];
  for (const fault of faults) console.error(fault);
  process.exit(1);
}

/** Loads a command's code when it runs, so that `--help` and the start of the server stay quick. */
const run =
  <Args extends unknown[]>(action: (...args: Args) => Promise<void>) =>
  (...args: Args): Promise<void> =>
    action(...args).catch(fail);

const role = (value: string): Role => {
  if (value === "front" || value === "core") return value;
  throw new InvalidArgumentError("must be front or core");
};

program
  .command("serve")
  .description("serve HTTP and gRPC; without a role everything in this one process")
  .option("--role <role>", "front: HTTP only, uses the core at TOKEN_CORE_URL; core: gRPC only", role)
  .action(
    run(async (options: { role?: Role }) => {
      const { serve } = await import("./compose/serve.ts");
      await serve(loadConfig(process.env, options.role ?? "all"), options.role ?? "all");
    }),
  );

program
  .command("migrate")
  .description("bring the database's schema up to date, and stop")
  .action(
    run(async () => {
      const { migrateOnly } = await import("./compose.ts");
      const applied = await migrateOnly(loadConfig(process.env, "command"));
      console.log(applied.length === 0 ? "the schema is up to date" : `applied: ${applied.join(", ")}`);
    }),
  );

program
  .command("provision")
  .argument("<file>", "JSON with realms, users, clients, resources and descriptions of scopes")
  .description("lay down realms, users, clients, resources and descriptions of scopes; idempotent, deletes nothing")
  .option("--server", "through the running server at COUNTERSIGN_URL, as an operator")
  .option("--json", "as JSON")
  .action(
    run(async (file: string, options: { server?: true; json?: true }) => {
      const { readProvisionFile } = await import("./management/provision.ts");
      if (options.server) {
        return running(terminal, provisionThroughServer)(readProvisionFile(file), terminal, options.json);
      }
      const { provisionOnly } = await import("./compose.ts");
      const { databaseWords } = await import("./compose/opening.ts");
      const plan = readProvisionFile(file);
      const config = loadConfig(process.env, "command");
      const done = await provisionOnly(config, plan, file);
      if (options.json) return console.log(asJson(done));
      for (const [what, { created, changed, unchanged }] of Object.entries(done)) {
        console.log(`${what}: ${created} created, ${changed} changed, ${unchanged} unchanged`);
      }
      console.log(`written to ${databaseWords(config)}`);
    }),
  );

const keys = program.command("keys").description("signing keys");
keys
  .command("generate")
  .description("print a new private key with its public half as PEM, for JWT_PRIVATE_KEY and JWT_PUBLIC_KEY")
  .addOption(new Option("--rsa", "an RSA key for JWT_RSA_PRIVATE_KEY instead of Ed25519").conflicts("mlDsa"))
  .option("--ml-dsa", "an ML-DSA-65 key for JWT_MLDSA_PRIVATE_KEY instead of Ed25519")
  .option("--out <file>", "write a new file that only this user can read, instead of printing")
  .action(run(async (options: GenerateOptions) => (await import("./compose/generate-key.ts")).generateKey(options)));

/** Read when a command needs it: `--help` and `serve` do not. */
const terminal = systemTerminal(() => {
  const { serverUrl, signIn } = loadConfig(process.env, "command");
  return { serverUrl, ...signIn };
}, process.env.XDG_CONFIG_HOME);
registerClientCommands(program, terminal);
registerKeyCommands(keys, terminal);
registerAuditCommands(program, terminal);
registerExplainCommand(program, terminal);
registerApiKeyCommands(program, terminal);
registerUserCommands(program, terminal);
registerDelegationCommands(program, terminal);
registerAgentCommands(program, terminal);
registerRealmCommands(program, terminal);
registerScopeCommands(program, terminal);
registerResourceCommands(program, terminal);
registerSignInCommands(program, terminal);
registerTokenCommand(program, terminal);
registerDoctorCommand(program, terminal, () => loadConfig(process.env, "command").databaseUrl);
program
  .command("completion")
  .addArgument(new Argument("<shell>", "the shell that reads the script").choices(["bash", "zsh", "fish"]))
  .description("print a script that completes commands and options")
  .action(run(async (shell: Shell) => void process.stdout.write((await import("./cli/completion.ts")).completionScript(program, shell))));
addExamples(program);

program.parseAsync().catch(fail);
