import type { AdminClient, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError } from "commander";
import type { Language } from "../texts/languages.ts";
import { CommandFailure, EXIT, secretIn } from "./failure.ts";
import { countOf, digits, LIMIT, listed, type Most, managementCommands, type Output, oneOf } from "./management-api.ts";
import { REALM, realmColumn, realmId, realmNamed } from "./realms.ts";
import { printable, table, whenOf } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { registerUserFactorCommands, registerUserFileCommands, userId, usersFound } from "./user-files-and-factors.ts";

type User = ManagementOutputs["operator"]["users"]["get"];
type Role = User["role"];

const role: (value: string) => Role = oneOf("user", "developer", "operator");

const ROLE_BY_DEFAULT = "user (signs in), developer (makes clients) or operator; default: developer, or user unless DEVELOPERS is all";

type NewcomerOptions = { readonly role?: Role; readonly realm?: string };
type CreateOptions = NewcomerOptions & { readonly passwordFile?: string };
type InviteOptions = NewcomerOptions & { readonly hours?: number; readonly language?: Language };
type DeleteOptions = { readonly yes?: true };

/** Catches what is no address before anything is asked; the server judges the rest. */
function address(value: string): string {
  if (!/^[^\s@]+@[^\s@]+$/.test(value)) throw new InvalidArgumentError("must be an e-mail address");
  return value;
}

async function output(admin: AdminClient, listed: readonly User[], value: unknown): Promise<Output> {
  const columns = { ID: "id", "E-MAIL": "email", VERIFIED: "emailVerified", ROLE: "role", ENABLED: "enabled" } as const;
  const all = { ...columns, REALM: await realmColumn(admin) };
  return { value, text: () => table(listed, all) };
}

function registerNewcomerCommands(command: ReturnType<typeof managementCommands>, terminal: Terminal): void {
  const withOptions = (one: Command) => one.option("--role <role>", ROLE_BY_DEFAULT, role).addOption(REALM);
  withOptions(
    command(
      "invite",
      "send a link by which a user opens an account",
      async (admin, email: string, { role: given, realm, hours, language }: InviteOptions) => {
        const invitation = { email, language, role: given, hours, ...(await realmNamed(admin, realm)) };
        const invited = await admin.operator.users.invite.mutate(invitation);
        const { shownDuration } = await import("../texts/languages.ts");
        return {
          value: invited,
          text: `Invited ${printable(invited.email)} as ${invited.role}; the link works for ${shownDuration("en", invited.hours * 3600)}.`,
        };
      },
    )
      .argument("<email>", "whom to invite", address)
      .option(
        "--hours <number>",
        "hours for which the link works; default: 168 (7 days), at most 720 (30 days)",
        digits(/^\d{1,4}$/, "a whole number"),
      )
      .option("--language <language>", "language of the mail; default: en"),
  );
  withOptions(
    command(
      "create",
      "create an account with a password, which is asked for",
      async (admin, email: string, { role: given, realm, passwordFile }: CreateOptions) => {
        const inside = await realmNamed(admin, realm);
        const instead = "Use --password-file; with - the password is read from standard input.";
        const password =
          passwordFile === undefined
            ? await terminal.ask("Password of the new account: ", { hidden: true, instead })
            : secretIn(passwordFile);
        const user = await admin.operator.users.create.mutate({ email, password, role: given, ...inside });
        return output(admin, [user], user);
      },
    )
      .argument("<email>", "address of the account, which counts as confirmed", address)
      .option("--password-file <file>", "read the password from a file, or from standard input with -"),
  );
  command(
    "delete <user>",
    "delete a user with everything that belongs to it, for good",
    async (admin, named: string, { yes }: DeleteOptions) => {
      const id = await userId(admin, named);
      const { email } = await admin.operator.users.get.query({ id });
      const question = `Delete ${printable(email)} for good? Type the e-mail address: `;
      if (!yes && (await terminal.ask(question, { instead: "Use --yes." })) !== email)
        throw new CommandFailure(EXIT.failed, "Nothing was deleted.");
      await admin.operator.users.delete.mutate({ id });
      return { value: { id, email }, text: `Deleted ${printable(email)}.` };
    },
  ).option("--yes", "without asking");
}

function registerInvitationCommands(command: ReturnType<typeof managementCommands>): void {
  const open = ({ operator }: AdminClient, search?: string, most?: number) =>
    listed("invitations", (at) => operator.invitations.list.query({ search: search || undefined, ...at }), most);
  command("invitations", "list invitations that were not accepted yet, newest first", async (admin, { limit }: Most) => {
    const { items, total } = await open(admin, undefined, limit);
    const columns = { "E-MAIL": "email", ROLE: "role", SENT: whenOf("createdAt"), EXPIRES: whenOf("expiresAt") } as const;
    const all = { ...columns, REALM: await realmColumn(admin) };
    const text = () => table(items, all);
    const whenEmpty = "No invitation waits. Send one with `countersign users invite`.";
    return { value: items, text, total, whenEmpty };
  }).addOption(LIMIT);
  command("withdraw <email>", "withdraw an invitation: its link stops working", async (admin, email: string) => {
    const invitation = (await open(admin, email.slice(0, 200))).items.find((one) => one.email.toLowerCase() === email.toLowerCase());
    if (invitation === undefined) throw new CommandFailure(EXIT.notFound, `No invitation of ${printable(email)} waits.`);
    const withdrawn = await admin.operator.invitations.withdraw.mutate({ id: invitation.id });
    return { value: withdrawn, text: `Withdrew the invitation of ${printable(withdrawn.email)}.` };
  });
}

/** A disabled user's clients go on, with secrets that the user may know. */
async function clientsGoOn({ operator }: AdminClient, { id, email }: User): Promise<string | undefined> {
  const page = await operator.clients.list.query({ ownerId: id, enabled: true, limit: 1 });
  if (page.clients.length === 0) return undefined;
  const list = `countersign clients list --operator --owner ${printable(email)}`;
  return `Clients that this user manages go on (${countOf(page)}), with secrets that the user may know: \`${list}\`.`;
}

export function registerUserCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "users", "users, for operators; named by id or e-mail address");
  const changing =
    (change: (users: AdminClient["operator"]["users"], id: string, newRole: Role) => Promise<User>) =>
    async (admin: AdminClient, named: string, newRole: Role) => {
      const user = await change(admin.operator.users, await userId(admin, named), newRole);
      return output(admin, [user], user);
    };

  command("list", "list users, newest first", async (admin, { search, limit }: Most & { readonly search?: string }) => {
    const { items, total } = await usersFound(admin, search, limit);
    return { ...(await output(admin, items, items)), total };
  })
    .addOption(LIMIT)
    .option("--search <text>", "only those with this text in name or address");
  command("move <user>", "move a user to another realm, named by id or name", async (admin, named: string, realm: string) => {
    const [id, realmIn] = [await userId(admin, named), await realmId(admin, realm)];
    const user = await admin.operator.users.setRealm.mutate({ id, realmId: realmIn });
    return output(admin, [user], user);
  }).argument("<realm>");
  registerNewcomerCommands(command, terminal);
  registerInvitationCommands(command);
  registerUserFileCommands(command, role);
  registerUserFactorCommands(command, terminal);
  command(
    "enable <user>",
    "let a user sign in again",
    changing((users, id) => users.enable.mutate({ id })),
  );
  command("disable <user>", "disable a user everywhere, at once", async (admin, named: string) => {
    const user = await admin.operator.users.disable.mutate({ id: await userId(admin, named) });
    return { ...(await output(admin, [user], user)), warning: () => clientsGoOn(admin, user) };
  });
  command(
    "role <user>",
    "give a user a role",
    changing((users, id, newRole) => users.setRole.mutate({ id, role: newRole })),
  ).argument("<role>", "user, developer or operator", role);
}
