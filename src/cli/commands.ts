import type { Command } from "commander";
import { registerAuditCommands } from "./audit.ts";
import { registerClientCommands } from "./clients.ts";
import { registerConnectionCommands } from "./connections.ts";
import { registerAgentCommands, registerDelegationCommands } from "./delegations.ts";
import { registerDoctorCommand } from "./doctor/command.ts";
import { registerExplainCommand } from "./explain.ts";
import { registerExportCommand } from "./export.ts";
import { registerApiKeyCommands } from "./keys.ts";
import { registerRealmCommands } from "./realms.ts";
import { registerResourceCommands } from "./resources.ts";
import { registerScopeCommands } from "./scopes.ts";
import { registerSignInCommands } from "./sign-in.ts";
import type { Terminal } from "./terminal.ts";
import { registerTokenCommand } from "./token/command.ts";
import { registerUserCommands } from "./users.ts";
import { registerWorkloadCommands } from "./workloads.ts";

/**
 * Adds the commands that ask a running server.
 * @param databaseUrl of the settings, for `doctor`, which says whether that database is durable
 */
export function registerServerCommands(program: Command, terminal: Terminal, databaseUrl: () => string | undefined): void {
  const registrations = [
    registerClientCommands,
    registerAuditCommands,
    registerExplainCommand,
    registerApiKeyCommands,
    registerUserCommands,
    registerDelegationCommands,
    registerAgentCommands,
    registerRealmCommands,
    registerScopeCommands,
    registerResourceCommands,
    registerConnectionCommands,
    registerWorkloadCommands,
    registerSignInCommands,
    registerTokenCommand,
    registerExportCommand,
  ];
  for (const register of registrations) register(program, terminal);
  registerDoctorCommand(program, terminal, databaseUrl);
}

/** Examples by the path of their command. Commands with examples of their own, such as `token`, are not listed. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: ["countersign serve", "countersign serve --role front"],
  migrate: ["DATABASE_URL=postgres://localhost/countersign countersign migrate"],
  provision: ["countersign provision plan.json", "countersign provision plan.json --server --dry-run"],
  export: ["countersign export > now.json"],
  "setup-link": ["countersign setup-link"],
  "keys generate": ["countersign keys generate --out key.pem"],
  "keys list": ["countersign keys list"],
  "keys withdraw": ["countersign keys withdraw 3rj5kPpEsyyCpA8UEG1uJAwYzJFdL2mGfDHAlHsLBWQ"],
  completion: [
    "source <(countersign completion bash)          in ~/.bashrc",
    "source <(countersign completion zsh)           in ~/.zshrc, after compinit",
    "countersign completion fish > ~/.config/fish/completions/countersign.fish",
  ],
  "clients list": ["countersign clients list", "countersign clients list --operator --unused-since 90d --json"],
  "clients show": ["countersign clients show my-app"],
  "clients create": [
    'countersign clients create "My app" --redirect-uri http://localhost:8080/cb --grant authorization_code --grant refresh_token --scope openid',
    'countersign clients create "Nightly job" --grant client_credentials --scope notes:read',
  ],
  "clients update": [
    'countersign clients update my-app --name "My application"',
    "countersign clients update crm-agent --operator --add-scope notes:export",
  ],
  "clients enable": ["countersign clients enable my-app"],
  "clients disable": ["countersign clients disable my-app"],
  "clients delete": ["countersign clients delete my-app", "countersign clients delete my-app --yes"],
  "clients regenerate-secret": ["countersign clients regenerate-secret my-app"],
  "audit tail": [
    "countersign audit tail",
    "countersign audit tail --client crm-agent --since 1h --json",
    "countersign audit tail --resource https://payroll.example.com/mcp --since 2026-10-01 --until 2026-11-01",
  ],
  "audit export": ["countersign audit export > audit.ndjson"],
  "audit verify": ["countersign audit verify audit.ndjson"],
  explain: [
    "countersign explain grant_type=client_credentials client_id=nightly-job scope=notes:read",
    "countersign explain --request fHfZq3PITaYm-k      the X-Request-Id of a refusal",
  ],
  "api-keys list": ["countersign api-keys list my-app"],
  "api-keys create": ["countersign api-keys create my-app laptop"],
  "api-keys revoke": ["countersign api-keys revoke my-app 0198f5a2-0000-7000-8000-000000000001"],
  "users list": ["countersign users list --search example.com"],
  "users invite": ["countersign users invite ada@example.com", "countersign users invite ada@example.com --role operator --language de"],
  "users invitations": ["countersign users invitations"],
  "users withdraw": ["countersign users withdraw ada@example.com"],
  "users create": ["countersign users create ada@example.com"],
  "users delete": ["countersign users delete ada@example.com"],
  "users export": ["countersign users export > users.ndjson"],
  "users import": ["countersign users import users.ndjson"],
  "users enable": ["countersign users enable ada@example.com"],
  "users disable": ["countersign users disable ada@example.com"],
  "users factors": ["countersign users factors ada@example.com", "countersign users factors ada@example.com --remove-app"],
  "users sessions": ["countersign users sessions ada@example.com", "countersign users sessions ada@example.com --end all"],
  "realms require-sign-in": ["countersign realms require-sign-in default mfa"],
  "users move": ["countersign users move ada@example.com guests"],
  "users role": ["countersign users role ada@example.com operator"],
  "delegations list": ["countersign delegations list --user ada@example.com --live"],
  "delegations show": ["countersign delegations show 0198f5a2-0000-7000-8000-000000000001"],
  "delegations cut": [
    "countersign delegations cut --agent summary-agent",
    "countersign delegations cut --agent summary-agent --user ada@example.com",
  ],
  "agents pause": ["countersign agents pause summary-agent", 'countersign agents pause summary-agent --reason "looks stolen"'],
  "agents resume": ["countersign agents resume summary-agent"],
  "agents pauses": ["countersign agents pauses"],
  "realms list": ["countersign realms list"],
  "realms create": ["countersign realms create guests"],
  "realms rename": ["countersign realms rename guests visitors"],
  "realms remove": ["countersign realms remove guests"],
  "realms update": ["countersign realms update default --scope openid --scope notes:read"],
  "realms brand": ['countersign realms brand guests --name "Guests of Acme" --logo guests.png --accent "#00695c"'],
  "branding preview": ['BRAND_NAME="Acme ID" BRAND_ACCENT="#b3005e" countersign branding preview'],
  "scopes list": ["countersign scopes list"],
  "scopes set": ['countersign scopes set notes:read --title-en "Read your notes" --title-de "Ihre Notizen lesen"'],
  "scopes remove": ["countersign scopes remove notes:read"],
  "connections list": ["countersign connections list"],
  "connections add": [
    "countersign connections add google --client-id ID --domain example.com",
    "countersign connections add acme --issuer https://login.acme.example --client-id ID --secret-file secret.txt",
  ],
  "connections show": ["countersign connections show google"],
  "connections update": ["countersign connections update google --domain example.com --domain example.org"],
  "connections identities": ["countersign connections identities ada@example.com"],
  "connections test": ["countersign connections test google"],
  "connections remove": ["countersign connections remove google"],
  "workloads list": ["countersign workloads list"],
  "workloads add": [
    "countersign workloads add https://token.actions.githubusercontent.com --kind oidc",
    "countersign workloads add https://kubernetes.default.svc.cluster.local --kind kubernetes --allow-private",
    "countersign workloads add spiffe://example.com --kind spiffe --bundle-endpoint https://spire.example.com/bundle",
  ],
  "workloads show": ["countersign workloads show https://token.actions.githubusercontent.com"],
  "workloads update": ["countersign workloads update https://token.actions.githubusercontent.com --max-lifetime 600"],
  "workloads remove": ["countersign workloads remove https://token.actions.githubusercontent.com"],
  "workloads assign": [
    "countersign workloads assign deployer --issuer https://token.actions.githubusercontent.com --subject repo:acme/agents:environment:production",
  ],
  "workloads unassign": ["countersign workloads unassign 0198f5a2-0000-7000-8000-000000000001"],
  "workloads test": ["countersign workloads test @token.jwt --signature"],
  "resources list": ["countersign resources list", "countersign resources list --search example.com --limit 25"],
  "resources add": ["countersign resources add https://notes.example.com/mcp"],
  "resources show": ["countersign resources show https://notes.example.com/mcp"],
  "resources update": [
    "countersign resources update https://notes.example.com/mcp --scope notes:read --scope notes:write",
    "countersign resources update https://notes.example.com/mcp --step-up notes:write=phr,300",
  ],
  "resources diff": ["countersign resources diff https://notes.example.com/mcp"],
  "resources remove": ["countersign resources remove https://notes.example.com/mcp"],
  login: ["countersign login", "COUNTERSIGN_URL=https://id.example.com countersign login"],
  logout: ["countersign logout"],
  whoami: ["countersign whoami --json"],
};

/** Adds its examples to each command's help, and the way to that help to its errors. */
export function completeHelp(command: Command, path = ""): void {
  for (const sub of command.commands) completeHelp(sub, path === "" ? sub.name() : `${path} ${sub.name()}`);
  command.showHelpAfterError(`See \`${["countersign", path, "--help"].filter(Boolean).join(" ")}\`.`);
  const examples = EXAMPLES[path];
  if (examples !== undefined) command.addHelpText("after", `\nExamples:\n${examples.map((each) => `  ${each}`).join("\n")}`);
}
