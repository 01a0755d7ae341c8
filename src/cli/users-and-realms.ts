import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError } from "commander";
import { LANGUAGES, type Language } from "../language.ts";
import { isUuid } from "../random.ts";
import { collect } from "./client-options.ts";
import { CommandFailure, EXIT } from "./failure.ts";
import { everyPage, managementCommands, type Output } from "./management-api.ts";
import { printable, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { registerUserFileCommands } from "./user-files.ts";

type User = ManagementOutputs["operator"]["users"]["get"];
type Realm = ManagementOutputs["operator"]["realms"]["update"];
type Role = User["role"];

const role = (value: string): Role => {
  if (value === "user" || value === "developer" || value === "operator") return value;
  throw new InvalidArgumentError("must be user, developer or operator");
};

type RoleOption = { readonly role?: Role };
type InviteOptions = RoleOption & { readonly hours?: number; readonly language?: Language };
type DeleteOptions = { readonly yes?: true };

function wholeNumber(value: string): number {
  if (!/^\d{1,4}$/.test(value)) throw new InvalidArgumentError("must be a whole number");
  return Number(value);
}

function asLanguage(value: string): Language {
  const language = LANGUAGES.find((one) => one === value);
  if (language === undefined) throw new InvalidArgumentError(`must be ${LANGUAGES.join(" or ")}`);
  return language;
}

const output = (listed: readonly User[], value: unknown): Output => {
  const rows = listed.map(({ id, email, emailVerified, role: userRole, enabled }) => [id, email, emailVerified, userRole, enabled]);
  return { value, text: table(["ID", "E-MAIL", "VERIFIED", "ROLE", "ENABLED"], rows) };
};

/** `countersign users invite`, `create` and `delete`. */
function registerNewcomerCommands(command: ReturnType<typeof managementCommands>, terminal: Terminal): void {
  const withRole = (one: Command) => one.option("--role <role>", "user, developer or operator; default: that of users who sign up", role);
  withRole(
    command(
      "invite <email>",
      "send a link by which a user opens an account",
      async ({ operator }, email: string, { role: given, hours, language }: InviteOptions) => {
        const invited = await operator.users.invite.mutate({
          email,
          language,
          ...(given && { role: given }),
          ...(hours !== undefined && { hours }),
        });
        return {
          value: invited,
          text: `Invited ${printable(invited.email)} as ${invited.role}; the link works for ${invited.hours} h.`,
        };
      },
    )
      .option("--hours <number>", "hours for which the link works; default: 168, at most 720", wholeNumber)
      .option("--language <language>", "language of the mail: en or de", asLanguage),
  );
  withRole(
    command(
      "create <email>",
      "create an account with a password, which is asked for",
      async ({ operator }, email: string, options: RoleOption) => {
        const password = await terminal.ask("Password of the new account: ", true);
        const user = await operator.users.create.mutate({ email, password, ...(options.role && { role: options.role }) });
        return output([user], user);
      },
    ),
  );
  command(
    "delete <user>",
    "delete a user with everything that belongs to it, for good",
    async (admin, named: string, { yes }: DeleteOptions) => {
      const id = await userId(admin, named);
      const { email } = await admin.operator.users.get.query({ id });
      if (!yes && (await terminal.ask(`Delete ${printable(email)} for good? Type the e-mail address: `)) !== email)
        throw new CommandFailure(EXIT.failed, "Nothing was deleted.");
      await admin.operator.users.delete.mutate({ id });
      return { value: { id, email }, text: `Deleted ${printable(email)}.` };
    },
  ).option("--yes", "without asking");
}

/** `countersign users …`, for operators. */
export function registerUserCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "users", "users, for operators; named by id or e-mail address");
  const changing =
    (change: (users: AdminClient["operator"]["users"], id: string, newRole: Role) => Promise<User>) =>
    async (admin: AdminClient, named: string, newRole: Role) => {
      const user = await change(admin.operator.users, await userId(admin, named), newRole);
      return output([user], user);
    };

  command("list", "list users, newest first", async (admin, { search }: { readonly search?: string }) => {
    const users = await everyUser(admin, search);
    return output(users, users);
  }).option("--search <text>", "only those with this text in name or address");
  registerNewcomerCommands(command, terminal);
  registerUserFileCommands(command);
  command(
    "enable <user>",
    "let a user sign in again",
    changing((users, id) => users.enable.mutate({ id })),
  );
  command(
    "disable <user>",
    "disable a user everywhere, at once",
    changing((users, id) => users.disable.mutate({ id })),
  );
  command(
    "role <user>",
    "give a user a role",
    changing((users, id, newRole) => users.setRole.mutate({ id, role: newRole })),
  ).argument("<role>", "user, developer or operator", role);
}

/** `countersign realms …`, for operators. */
export function registerRealmCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "realms", "realms, for operators");
  const output = (listed: readonly Realm[], value: unknown): Output => {
    const rows = listed.map(({ id, name, dynamicRegistrationScopes: scopes }) => [id, name, scopes?.length === 0 ? "none" : scopes]);
    return { value, text: table(["ID", "NAME", "REGISTRATION SCOPES"], rows) };
  };

  command("list", "list realms; a dash stands for DEFAULT_DYNAMIC_REGISTRATION_SCOPES", async ({ operator }) => {
    const { realms } = await operator.realms.list.query();
    return output(realms, realms);
  });
  command(
    "update <realm>",
    "set the scopes that open registration may grant in a realm, named by id or name",
    async ({ operator: { realms } }, named: string, { scope }: { readonly scope: readonly string[] }) => {
      const id = (await realms.list.query()).realms.find((realm) => realm.id === named || realm.name === named)?.id ?? named;
      const only = scope.length === 1 ? scope[0] : undefined;
      const dynamicRegistrationScopes = only === "default" ? null : only === "none" ? [] : [...scope];
      const realm = await realms.update.mutate({ id, dynamicRegistrationScopes });
      return output([realm], realm);
    },
  ).requiredOption("--scope <scope>", "a scope; repeatable, or none, or default (DEFAULT_DYNAMIC_REGISTRATION_SCOPES)", collect);
}

const everyUser = ({ operator }: AdminClient, search: string | undefined): Promise<readonly User[]> =>
  everyPage(
    (at) => operator.users.list.query({ ...(search !== undefined && { search }), ...at }),
    ({ users }) => users,
  );

/** The id in an option. @throws {CommandFailure} for anything but a UUID, which would silently find nothing */
export function asId(option: string, value: string): string {
  const id = value.toLowerCase();
  if (!isUuid(id)) throw new CommandFailure(EXIT.failed, `${option}: not an id`);
  return id;
}

/** The id of a user who is named by id or e-mail address. @throws {CommandFailure} for an address of no user, or of several */
export async function userId(admin: AdminClient, named: string): Promise<string> {
  if (!named.includes("@")) return named;
  const [first, ...others] = (await everyUser(admin, named)).filter(({ email }) => email.toLowerCase() === named.toLowerCase());
  if (first === undefined) throw new CommandFailure(EXIT.notFound, `No user has the e-mail address ${printable(named)}.`);
  if (others.length > 0)
    throw new CommandFailure(EXIT.failed, `Several users have the e-mail address ${printable(named)}: name one by id.`);
  return first.id;
}
