import type { Command } from "commander";
import { registerAuditCommands } from "./audit.ts";
import { registerClientCommands } from "./clients.ts";
import { registerConnectionCommands } from "./connections.ts";
import { registerAgentCommands, registerDelegationCommands } from "./delegations.ts";
import { registerDoctorCommand } from "./doctor/command.ts";
import { registerExplainCommand } from "./explain.ts";
import { registerApiKeyCommands } from "./keys.ts";
import { registerResourceCommands } from "./resources.ts";
import { registerScopeCommands } from "./scopes.ts";
import { registerSignInCommands } from "./sign-in.ts";
import type { Terminal } from "./terminal.ts";
import { registerTokenCommand } from "./token/command.ts";
import { registerRealmCommands, registerUserCommands } from "./users-and-realms.ts";
import { registerWorkloadCommands } from "./workloads.ts";

/**
 * Adds the commands that ask a running server.
 * @param databaseUrl of the settings, for `doctor`, which says whether that database is durable
 */
export function registerServerCommands(program: Command, terminal: Terminal, databaseUrl: () => string | undefined): void {
  registerClientCommands(program, terminal);
  registerAuditCommands(program, terminal);
  registerExplainCommand(program, terminal);
  registerApiKeyCommands(program, terminal);
  registerUserCommands(program, terminal);
  registerDelegationCommands(program, terminal);
  registerAgentCommands(program, terminal);
  registerRealmCommands(program, terminal);
  registerScopeCommands(program, terminal);
  registerResourceCommands(program, terminal);
  registerConnectionCommands(program, terminal);
  registerWorkloadCommands(program, terminal);
  registerSignInCommands(program, terminal);
  registerTokenCommand(program, terminal);
  registerDoctorCommand(program, terminal, databaseUrl);
}
