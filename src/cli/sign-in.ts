import type { Command } from "commander";
import { EXIT_CODES } from "./failure.ts";
import { asJson, record } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

/** `countersign login`, `logout`, `whoami`. */
export function registerSignInCommands(program: Command, terminal: Terminal): void {
  const command = (name: string, description: string) =>
    program.command(name).description(description).option("--json", "as JSON").addHelpText("after", EXIT_CODES);
  interface Options {
    readonly json?: true;
  }

  command("login", "sign in at COUNTERSIGN_URL; later commands act as this user").action(
    running(terminal, async (options: Options) => {
      const { login } = await import("./session.ts");
      const email = await login(terminal);
      terminal.write(options.json ? asJson({ email }) : `signed in as ${email}`);
    }),
  );
  command("logout", "end the session of COUNTERSIGN_EMAIL, else of the last user who signed in").action(
    running(terminal, async (options: Options) => {
      const { logout } = await import("./session.ts");
      const email = await logout(terminal);
      terminal.write(
        options.json ? asJson({ email: email ?? null }) : email === undefined ? "no user was signed in" : `signed out ${email}`,
      );
    }),
  );
  command("whoami", "show the user as whom commands act").action(
    running(terminal, async (options: Options) => {
      const { whoAmI } = await import("./session.ts");
      const user = await whoAmI(terminal);
      terminal.write(options.json ? asJson(user) : record({ ...user }));
    }),
  );
}
