import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError } from "commander";
import { isUuid } from "../identifier.ts";
import { CommandFailure, EXIT, EXIT_CODES } from "./failure.ts";
import { managing } from "./managing.ts";
import { asJson, table } from "./table.ts";
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
    .description("people, for operators; a person is named by id or e-mail address")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) => users.command(name).description(description).option("--json", "as JSON");
  const write = (people: readonly User[], shown: unknown, { json }: Options): void => {
    const rows = people.map(({ id, email, emailVerified, role: held, enabled }) => [id, email, emailVerified, held, enabled]);
    terminal.write(json ? asJson(shown) : table(["ID", "E-MAIL", "VERIFIED", "ROLE", "ENABLED"], rows));
  };

  command("list", "list people, newest first")
    .option("--search <text>", "only those in whose name or address it is")
    .action(
      running(terminal, async ({ search, ...options }: Options & { readonly search?: string }) => {
        const people = await everyone(await managing(terminal), search);
        write(people, people, options);
      }),
    );
  const changing = <Args extends unknown[]>(change: (admin: AdminClient, id: string, ...args: Args) => Promise<User>) =>
    running(terminal, async (person: string, ...args: [...Args, Options, Command]) => {
      const admin = await managing(terminal);
      const user = await change(admin, await userId(admin, person), ...(args.slice(0, -2) as Args)); // commander adds options and command
      write([user], user, args.at(-2) as Options);
    });
  command("enable <person>", "let a person sign in again").action(changing((admin, id) => admin.operator.users.enable.mutate({ id })));
  command("disable <person>", "refuse a person everywhere, at once").action(
    changing((admin, id) => admin.operator.users.disable.mutate({ id })),
  );
  command("role <person>", "developer or operator")
    .argument("<role>", "developer or operator", role)
    .action(changing((admin, id, given: Role) => admin.operator.users.setRole.mutate({ id, role: given })));
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
    .description("set what open registration may hand out in a realm, named by id or name")
    .requiredOption(
      "--scope <scope>",
      "a scope; may be given several times, or once as none (nothing) or default (DEFAULT_DYNAMIC_REGISTRATION_SCOPES)",
      (value: string, before: readonly string[] = []) => [...before, value],
    )
    .option("--json", "as JSON")
    .action(
      running(terminal, async (given: string, { scope, ...options }: Options & { readonly scope: readonly string[] }) => {
        const admin = await managing(terminal);
        const { realms: known } = await admin.operator.realms.list.query();
        const id = known.find((realm) => realm.id === given || realm.name === given)?.id ?? given;
        const only = scope.length === 1 ? scope[0] : undefined;
        const dynamicRegistrationScopes = only === "default" ? null : only === "none" ? [] : [...scope];
        const realm = await admin.operator.realms.update.mutate({ id, dynamicRegistrationScopes });
        write([realm], realm, options);
      }),
    );
}

async function everyone(admin: AdminClient, search: string | undefined): Promise<readonly User[]> {
  const all: User[] = [];
  for (let cursor: string | undefined; ; ) {
    const filter = { limit: 200, ...(cursor !== undefined && { cursor }), ...(search !== undefined && { search }) };
    const page = await admin.operator.users.list.query(filter);
    all.push(...page.users);
    if (page.nextCursor === null) return all;
    cursor = page.nextCursor;
  }
}

/** A record's id as it was given for an option. @throws {CommandFailure} for what is no id, which would find nothing without a word */
export function asId(option: string, given: string): string {
  const id = given.toLowerCase();
  if (!isUuid(id)) throw new CommandFailure(EXIT.failed, `${option}: not an id`);
  return id;
}

/**
 * The id of a person, by it or by e-mail address.
 * @throws {CommandFailure} for an address that is nobody's, or of people of several realms
 */
export async function userId(admin: AdminClient, person: string): Promise<string> {
  if (!person.includes("@")) return person;
  const [first, ...others] = (await everyone(admin, person)).filter(({ email }) => email.toLowerCase() === person.toLowerCase());
  if (first === undefined) throw new CommandFailure(EXIT.notFound, "Not found.");
  if (others.length > 0) throw new CommandFailure(EXIT.failed, "Several people have this address: name one by id.");
  return first.id;
}
