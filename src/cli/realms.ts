import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { type Command, Option } from "commander";
import { PHISHING_RESISTANT_ACR, TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import { CommandFailure, contentOf, EXIT } from "./failure.ts";
import {
  collectOr,
  everyPage,
  LIMIT,
  listed,
  type Most,
  managementCommands,
  NULL,
  type Output,
  oneOf,
  orNull,
  scopesBy,
  setting,
  Yes,
} from "./management-api.ts";
import { printable, record, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Realm = ManagementOutputs["operator"]["realms"]["update"];
type RealmUpdate = ManagementInputs["operator"]["realms"]["update"];

/** The words of the command line for classes of sign-in. */
export const SIGN_INS = { any: null, mfa: TWO_FACTOR_ACR, phr: PHISHING_RESISTANT_ACR } as const;

export const signInClass = oneOf("any", "mfa", "phr");

export const REALM = new Option("--realm <realm>", "name or id of the realm; without it: the default realm");

export async function realmNames({ operator }: AdminClient): Promise<ReadonlyMap<string, string>> {
  const realms = await everyPage("realms", (at) => operator.realms.list.query(at));
  return new Map(realms.map(({ id, name }) => [id, name]));
}

/** The column of what is in a realm: its name. Where names cannot be read its id: what the command has done is to be shown. */
export async function realmColumn(admin: AdminClient): Promise<(item: { readonly realmId: string }) => string> {
  const names = await realmNames(admin).catch(() => new Map<string, string>());
  return ({ realmId: id }) => names.get(id) ?? id;
}

/** A realm that is named by id or name. @throws {CommandFailure} for an unknown realm */
export async function realmFound({ operator }: AdminClient, named: string): Promise<{ readonly id: string; readonly name: string }> {
  const found = await everyPage("realms", (at) =>
    operator.realms.list.query({ ...(named !== "" && { search: named.slice(0, 200) }), ...at }),
  );
  const realm = found.find(({ id, name }) => id === named.toLowerCase() || name === named);
  if (realm === undefined) throw new CommandFailure(EXIT.notFound, `There is no realm named ${printable(named)}.`);
  return realm;
}

/** @throws {CommandFailure} for an unknown realm */
export const realmId = async (admin: AdminClient, named: string): Promise<string> => (await realmFound(admin, named)).id;

/** @throws {CommandFailure} for an unknown realm */
export async function realmNamed(admin: AdminClient, realm: string | undefined): Promise<{ readonly realmId?: string }> {
  return realm === undefined ? {} : { realmId: await realmId(admin, realm) };
}

export function registerRealmCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "realms", "realms, for operators");
  const scopesOf = ({ dynamicRegistrationScopes: scopes }: Realm) => (scopes?.length === 0 ? "none" : scopes);
  const output = (listed: readonly Realm[], value: unknown): Output => ({
    value,
    text: () => table(listed, { ID: "id", NAME: "name", "REGISTRATION SCOPES": scopesOf }),
  });
  const create = async ({ operator }: AdminClient, name: string) => {
    const realm = await operator.realms.create.mutate({ name });
    return output([realm], realm);
  };
  const rename = async (admin: AdminClient, named: string, name: string) => {
    const realm = await admin.operator.realms.rename.mutate({ id: await realmId(admin, named), name });
    return output([realm], realm);
  };
  const remove = async (admin: AdminClient, named: string) => {
    const removed = await admin.operator.realms.remove.mutate({ id: await realmId(admin, named) });
    return { value: removed, text: `removed ${printable(named)}` };
  };

  command("list", "list realms; a dash stands for DEFAULT_DYNAMIC_REGISTRATION_SCOPES", async ({ operator }, { limit }: Most) => {
    const { items, total } = await listed("realms", (at) => operator.realms.list.query(at), limit);
    return { ...output(items, items), total };
  }).addOption(LIMIT);
  command(
    "create <name>",
    "create a realm; users get into it by `users create`, `invite`, `import` and `move`, or by a connection",
    create,
  );
  command("rename <realm>", "rename a realm, which is named by id or name; a provisioning file has to name it so too", rename).argument(
    "<name>",
  );
  command(
    "remove <realm>",
    "remove an empty realm, with its descriptions of scopes and records of resources; a provisioning file that names it makes it again",
    remove,
  ).addOption(new Yes("Its descriptions of scopes and records of resources go with it."));
  command(
    "update <realm>",
    "set the scopes that open registration may grant in a realm, named by id or name; clients register in the default realm alone",
    async (admin, named: string, change: Omit<RealmUpdate, "id">) => {
      const realm = await admin.operator.realms.update.mutate({ id: await realmId(admin, named), ...change });
      return output([realm], realm);
    },
  ).addOption(
    setting(
      "dynamicRegistrationScopes",
      "--scope <scope>",
      "a scope; repeatable, or none, or default (DEFAULT_DYNAMIC_REGISTRATION_SCOPES)",
      scopesBy(collectOr<readonly string[] | null>({ none: [], default: NULL })),
    ).makeOptionMandatory(),
  );
  command(
    "require-sign-in <realm>",
    "set the weakest sign-in with which the realm's users get tokens: any, mfa or phr",
    async (admin, named: string, weakest: keyof typeof SIGN_INS) => {
      const changed = await admin.operator.realms.setRequiredAcr.mutate({
        id: await realmId(admin, named),
        requiredAcr: SIGN_INS[weakest],
      });
      const text = `Users of ${printable(named)} sign in with ${weakest === "any" ? "any method" : weakest}.`;
      return { value: changed, text, warning: () => lackingWarning(changed.lacking) };
    },
  ).argument("<weakest>", "any, mfa (a second factor) or phr (a passkey)", signInClass);
  registerRealmBranding(command);
}

/** What follows for users who have no sign-in of the class that is demanded now; operators are among them. */
function lackingWarning(lacking: number | null): string | undefined {
  if (lacking === 0) return undefined;
  const many = lacking === null ? "Some users may" : `${lacking > 10_000 ? "More than 10,000" : lacking} users`;
  const [who, set, their] = lacking === 1 ? ["1 user has", "sets", "the"] : [`${many} have`, "set", "their"];
  return `${who} no such sign-in here, and ${set} one up at ${their} next sign-in in a browser, unless the identity provider proves it; until then their passwords alone are refused, also by COUNTERSIGN_PASSWORD. If you are one of them, set up yours now, at /account/security.`;
}

type Branding = ManagementInputs["operator"]["realms"]["setBranding"]["branding"];
function registerRealmBranding(command: ReturnType<typeof managementCommands>): Command {
  const none = orNull("none"); // leaves a member to the deployment
  const set = async (admin: AdminClient, named: string, { logo: file, ...members }: Branding): Promise<Output> => {
    const image = file === undefined || file === null ? file : contentOf(file).toString("base64");
    const branding = { ...members, ...(image !== undefined && { logo: image }) };
    if (Object.keys(branding).length === 0) throw new CommandFailure(EXIT.failed, "Name at least one option, such as --name.");
    const value = await admin.operator.realms.setBranding.mutate({ id: await realmId(admin, named), branding });
    const { name, logo, accent, termsUrl, privacyUrl, support } = value;
    return { value, text: record({ name, logo, accent, terms: termsUrl, privacy: privacyUrl, support }) };
  };
  return command("brand <realm>", "set the name, logo and colours on the pages of a realm's users; none: those of the settings", set)
    .addOption(setting("name", "--name <name>", "in pages and mails", none))
    .addOption(setting("logo", "--logo <file>", "PNG, JPEG, WebP or SVG, at most 64 KiB", none))
    .addOption(setting("accent", "--accent <colour>", "of buttons and links, as #rrggbb", none))
    .addOption(setting("termsUrl", "--terms <url>", "page with the terms of service", none))
    .addOption(setting("privacyUrl", "--privacy <url>", "page with the privacy notice", none))
    .addOption(setting("support", "--support <address>", "e-mail address or page of the support", none));
}
