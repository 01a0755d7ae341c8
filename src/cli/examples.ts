import type { Command } from "commander";

/** Examples by the path of their command. Commands with examples of their own, such as `token`, are not listed. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: ["countersign serve", "countersign serve --role front"],
  migrate: ["DATABASE_URL=postgres://localhost/countersign countersign migrate"],
  provision: ["countersign provision plan.json", "countersign provision plan.json --server"],
  "keys generate": ["countersign keys generate --out key.pem"],
  "keys list": ["countersign keys list"],
  completion: [
    "source <(countersign completion bash)          in ~/.bashrc",
    "source <(countersign completion zsh)           in ~/.zshrc, after compinit",
    "countersign completion fish > ~/.config/fish/completions/countersign.fish",
  ],
  "clients list": ["countersign clients list", "countersign clients list --operator --json"],
  "clients show": ["countersign clients show my-app"],
  "clients create": [
    'countersign clients create "My app" --redirect-uri http://localhost:8080/cb --grant authorization_code --grant refresh_token --scope openid',
    'countersign clients create "Nightly job" --grant client_credentials --scope notes:read',
  ],
  "clients update": ['countersign clients update my-app --name "My application"'],
  "clients enable": ["countersign clients enable my-app"],
  "clients disable": ["countersign clients disable my-app"],
  "clients delete": ["countersign clients delete my-app", "countersign clients delete my-app --yes"],
  "clients regenerate-secret": ["countersign clients regenerate-secret my-app"],
  "audit tail": ["countersign audit tail", "countersign audit tail --json"],
  "audit export": ["countersign audit export > audit.ndjson"],
  "audit verify": ["countersign audit verify audit.ndjson"],
  explain: ["countersign explain grant_type=client_credentials client_id=nightly-job scope=notes:read"],
  "api-keys list": ["countersign api-keys list my-app"],
  "api-keys create": ["countersign api-keys create my-app laptop"],
  "api-keys revoke": ["countersign api-keys revoke my-app 0198f5a2-0000-7000-8000-000000000001"],
  "users list": ["countersign users list --search example.com"],
  "users invite": ["countersign users invite ada@example.com"],
  "users create": ["countersign users create ada@example.com"],
  "users delete": ["countersign users delete ada@example.com"],
  "users export": ["countersign users export > users.ndjson"],
  "users import": ["countersign users import users.ndjson"],
  "users enable": ["countersign users enable ada@example.com"],
  "users disable": ["countersign users disable ada@example.com"],
  "users role": ["countersign users role ada@example.com operator"],
  "delegations list": ["countersign delegations list --user ada@example.com --live"],
  "delegations show": ["countersign delegations show 0198f5a2-0000-7000-8000-000000000001"],
  "delegations cut": [
    "countersign delegations cut --agent summary-agent",
    "countersign delegations cut --agent summary-agent --user ada@example.com",
  ],
  "agents pause": ["countersign agents pause summary-agent"],
  "agents resume": ["countersign agents resume summary-agent"],
  "agents pauses": ["countersign agents pauses"],
  "realms list": ["countersign realms list"],
  "realms update": ["countersign realms update default --scope openid --scope notes:read"],
  "scopes list": ["countersign scopes list"],
  "scopes set": ['countersign scopes set notes:read --title-en "Read your notes" --title-de "Ihre Notizen lesen"'],
  "scopes remove": ["countersign scopes remove notes:read"],
  "resources list": ["countersign resources list"],
  "resources add": ["countersign resources add https://notes.example.com/mcp"],
  "resources show": ["countersign resources show https://notes.example.com/mcp"],
  "resources update": ["countersign resources update https://notes.example.com/mcp --scope notes:read --scope notes:write"],
  "resources diff": ["countersign resources diff https://notes.example.com/mcp"],
  "resources remove": ["countersign resources remove https://notes.example.com/mcp"],
  login: ["countersign login", "COUNTERSIGN_URL=https://id.example.com countersign login"],
  logout: ["countersign logout"],
  whoami: ["countersign whoami --json"],
};

/** Adds its examples to the help of each command. */
export function addExamples(command: Command, path = ""): void {
  for (const sub of command.commands) addExamples(sub, path === "" ? sub.name() : `${path} ${sub.name()}`);
  const examples = EXAMPLES[path];
  if (examples !== undefined) command.addHelpText("after", `\nExamples:\n${examples.map((each) => `  ${each}`).join("\n")}`);
}
