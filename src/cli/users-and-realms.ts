import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError } from "commander";
import { isUuid } from "../identifier.ts";
import { CommandFailure, EXIT, EXIT_CODES } from "./failure.ts";
import { everyPage, managing } from "./management-api.ts";
import { asJson, printable, table } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

type User = ManagementOutputs["operator"]["users"]["get"];
type Realm = ManagementOutputs["operator"]["realms"]["update"];
type Role = User["role"];

interface Options {
  readonly json?: true;
}

const role = (value: string): Role => {
  if (value === "developer" || value === "operator") return value;
  throw new InvalidArgumentError("must be developer or operator");
};

/** `countersign users …`, for operators. */
export function registerUserCommands(program: Command, terminal: Terminal): void {
  const users = program
    .command("users")
    .description("users, for operators; named by id or e-mail address")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) => users.command(name).description(description).option("--json", "as JSON");
  const write = (listed: readonly User[], shown: unknown, { json }: Options): void => {
    const rows = listed.map(({ id, email, emailVerified, role: userRole, enabled }) => [id, email, emailVerified, userRole, enabled]);
    terminal.write(json ? asJson(shown) : table(["ID", "E-MAIL", "VERIFIED", "ROLE", "ENABLED"], rows));
  };

  command("list", "list users, newest first")
    .option("--search <text>", "only those with this text in name or address")
    .action(
      running(terminal, async ({ search, ...options }: Options & { readonly search?: string }) => {
        const found = await everyUser(await managing(terminal), search);
        write(found, found, options);
      }),
    );
  const changing = <Args extends unknown[]>(change: (admin: AdminClient, id: string, ...args: Args) => Promise<User>) =>
    running(terminal, async (named: string, ...args: [...Args, Options, Command]) => {
      const admin = await managing(terminal);
      const user = await change(admin, await userId(admin, named), ...(args.slice(0, -2) as Args)); // commander adds options and command
      write([user], user, args.at(-2) as Options);
    });
  command("enable <user>", "let a user sign in again").action(changing((admin, id) => admin.operator.users.enable.mutate({ id })));
  command("disable <user>", "disable a user everywhere, at once").action(
    changing((admin, id) => admin.operator.users.disable.mutate({ id })),
  );
  command("role <user>", "make a user a developer or an operator")
    .argument("<role>", "developer or operator", role)
    .action(changing((admin, id, newRole: Role) => admin.operator.users.setRole.mutate({ id, role: newRole })));
}

/** `countersign realms …`, for operators. */
export function registerRealmCommands(program: Command, terminal: Terminal): void {
  const realms = program.command("realms").description("realms, for operators").addHelpText("after", EXIT_CODES);
  const write = (listed: readonly Realm[], shown: unknown, { json }: Options): void => {
    const rows = listed.map(({ id, name, dynamicRegistrationScopes: scopes }) => [id, name, scopes?.length === 0 ? "none" : scopes]);
    terminal.write(json ? asJson(shown) : table(["ID", "NAME", "REGISTRATION SCOPES"], rows));
  };

  realms
    .command("list")
    .description("list realms; a dash stands for DEFAULT_DYNAMIC_REGISTRATION_SCOPES")
    .option("--json", "as JSON")
    .action(
      running(terminal, async (options: Options) => {
        const { realms: listed } = await (await managing(terminal)).operator.realms.list.query();
        write(listed, listed, options);
      }),
    );
  realms
    .command("update <realm>")
    .description("set the scopes that open registration may grant in a realm, named by id or name")
    .requiredOption(
      "--scope <scope>",
      "a scope; repeatable, or none, or default (DEFAULT_DYNAMIC_REGISTRATION_SCOPES)",
      (value: string, before: readonly string[] = []) => [...before, value],
    )
    .option("--json", "as JSON")
    .action(
      running(terminal, async (named: string, { scope, ...options }: Options & { readonly scope: readonly string[] }) => {
        const admin = await managing(terminal);
        const { realms: known } = await admin.operator.realms.list.query();
        const id = known.find((realm) => realm.id === named || realm.name === named)?.id ?? named;
        const only = scope.length === 1 ? scope[0] : undefined;
        const dynamicRegistrationScopes = only === "default" ? null : only === "none" ? [] : [...scope];
        const realm = await admin.operator.realms.update.mutate({ id, dynamicRegistrationScopes });
        write([realm], realm, options);
      }),
    );
}

const everyUser = (admin: AdminClient, search: string | undefined): Promise<readonly User[]> =>
  everyPage(async (at) => {
    const { users, nextCursor } = await admin.operator.users.list.query({ limit: 200, ...(search !== undefined && { search }), ...at });
    return { items: users, nextCursor };
  });

/** The id in an option. @throws {CommandFailure} for anything but a UUID, which would silently find nothing */
export function asId(option: string, value: string): string {
  const id = value.toLowerCase();
  if (!isUuid(id)) throw new CommandFailure(EXIT.failed, `${option}: not an id`);
  return id;
}

/**
 * The id of a user who is named by id or e-mail address.
 * @throws {CommandFailure} for an address of no user, or of users in several realms
 */
export async function userId(admin: AdminClient, named: string): Promise<string> {
  if (!named.includes("@")) return named;
  const [first, ...others] = (await everyUser(admin, named)).filter(({ email }) => email.toLowerCase() === named.toLowerCase());
  if (first === undefined) throw new CommandFailure(EXIT.notFound, `No user has the e-mail address ${printable(named)}.`);
  if (others.length > 0)
    throw new CommandFailure(EXIT.failed, `Several users have the e-mail address ${printable(named)}: name one by id.`);
  return first.id;
}
