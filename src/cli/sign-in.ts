import type { Command } from "commander";
import { EXIT_CODES } from "./failure.ts";
import { addCommand, type Output } from "./management-api.ts";
import { record } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** `countersign login`, `logout`, `whoami`. */
export function registerSignInCommands(program: Command, terminal: Terminal): void {
  const command = (name: string, description: string, action: (session: typeof import("./session.ts")) => Promise<Output>) =>
    addCommand(program, terminal, name, description, async () => action(await import("./session.ts"))).addHelpText("after", EXIT_CODES);

  command("login", "sign in at COUNTERSIGN_URL; later commands act as this user", async ({ login }) => {
    const email = await login(terminal);
    return { value: { email }, text: `signed in as ${email}` };
  });
  command("logout", "end the session of COUNTERSIGN_EMAIL, else of the last user who signed in", async ({ logout }) => {
    const email = await logout(terminal);
    return { value: { email: email ?? null }, text: email === undefined ? "no user was signed in" : `signed out ${email}` };
  });
  command("whoami", "show the user as whom commands act", async ({ whoAmI }) => {
    const user = await whoAmI(terminal);
    return { value: user, text: record({ ...user }) };
  });
}
