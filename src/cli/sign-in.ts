import type { Command } from "commander";
import { EXIT_CODES } from "./failure.ts";
import { addCommand, type Output } from "./management-api.ts";
import { printable, record } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function registerSignInCommands(program: Command, terminal: Terminal): void {
  const command = <Options>(
    name: string,
    description: string,
    action: (session: typeof import("./session.ts"), options: Options) => Promise<Output>,
  ) =>
    addCommand(program, terminal, name, description, async (options: Options) => action(await import("./session.ts"), options)).addHelpText(
      "after",
      EXIT_CODES,
    );

  command(
    "login",
    "sign in at COUNTERSIGN_URL through the browser; later commands act as this user",
    async ({ login }, { device }: { readonly device?: true }) => {
      const { email, role } = await login(terminal, device);
      return { value: { email, role }, text: `signed in as ${printable(email)} (${role})` };
    },
  ).option("--device", "show a code for a browser on another device");
  command("logout", "end the session of COUNTERSIGN_EMAIL, else of the last user who signed in", async ({ logout }) => {
    const email = await logout(terminal);
    return { value: { email: email ?? null }, text: email === undefined ? "no user was signed in" : `signed out ${email}` };
  });
  command("whoami", "show the user as whom commands act", async ({ whoAmI, baseUrl }) => {
    const { id, email, role } = await whoAmI(terminal);
    const user = { id, email, role, server: baseUrl(terminal) };
    return { value: user, text: record(user) };
  });
}
