import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError } from "commander";
import { isScopeToken } from "../protocol/access.ts";
import { assertOwnOptions, CLIENT_ID, type ClientOptions, describing, keySetIn, OWNER } from "./client-options.ts";
import { CommandFailure, EXIT } from "./failure.ts";
import {
  collect,
  everyPage,
  LIMIT,
  listed,
  type Most,
  managementCommands,
  moment,
  type Output,
  onceOnly,
  scopesBy,
  setting,
  Yes,
} from "./management-api.ts";
import { type Cell, printable, record, table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { asId, userId } from "./user-files-and-factors.ts";

type OwnClient = ManagementOutputs["clients"]["get"];
type AnyClient = ManagementOutputs["operator"]["clients"]["get"];
type Shown = (OwnClient | AnyClient) & { readonly clientSecret?: string };
type Common = Pick<ClientOptions, "operator">;

export function registerClientCommands(program: Command, terminal: Terminal): void {
  const description = "clients that you own; with --operator all clients; named by id or client_id";
  const managed = managementCommands(program, terminal, "clients", description);
  const everything = "as an operator: any client, with the members that only operators see and set";
  const command: typeof managed = (usage, purpose, action) => managed(usage, purpose, hinting(action)).option("--operator", everything);
  const named = <Options extends Common>(
    usage: string,
    purpose: string,
    action: (admin: AdminClient, id: string, options: Options) => Promise<Shown>,
  ) =>
    command(usage, purpose, async (admin, name: string, options: Options) =>
      output(await action(admin, await recordId(admin, name, options), options)),
    );

  command("list", "list clients, newest first", list)
    .addOption(LIMIT)
    .option("--search <text>", "only those with this text in name or client_id")
    .addOption(setting("ownerId", "--owner <user>", "for operators: only those that this user manages, by id or e-mail address"))
    .addOption(setting("unusedSince", "--unused-since <time>", "for operators: only those without use since then: 90d, 2026-10-01", moment))
    .addOption(setting("isAgent", "--agents", "for operators: only agents"));
  named(
    "show <client>",
    "show one client",
    (admin, id, { operator }): Promise<Shown> => (operator ? admin.operator.clients.get.query({ id }) : admin.clients.get.query({ id })),
  ).alias("get");
  describing(
    command("create <name>", "create a client; its secret is shown only once", async (admin, name: string, options: ClientOptions) => {
      const client = await created(admin, name, options);
      return { ...output(client), warning: () => stillMissing(client, options) };
    }),
  )
    .addOption(CLIENT_ID)
    .addOption(OWNER);
  describing(named("update <client>", "change the given members, and no others", updated))
    .addOption(
      setting("moreScopes", "--add-scope <scope>", "a scope beside those that it has; repeatable", scopesBy(added)).conflicts("scopes"),
    )
    .addOption(
      setting("lessScopes", "--remove-scope <scope>", "a scope that it has no more; repeatable", scopesBy(collect)).conflicts("scopes"),
    )
    .option("--name <name>", "its name")
    .option("--enable", "enable it again")
    .option("--disable", "disable it everywhere, at once")
    .addOption(OWNER);
  named("enable <client>", "enable a client again", (admin, id, options) => updated(admin, id, { ...options, enable: true }));
  named("disable <client>", "disable a client everywhere, at once", (admin, id, options) =>
    updated(admin, id, { ...options, disable: true }),
  );
  command("delete <client>", "delete a client with its keys, grants and tokens", async (admin, name: string, options: Common) => {
    const id = await recordId(admin, name, options);
    await (options.operator ? admin.operator : admin).clients.delete.mutate({ id });
    return { value: { deleted: id }, text: `deleted ${id}` };
  }).addOption(new Yes("The client is deleted with its keys, grants and tokens."));
  named(
    "regenerate-secret <client>",
    "give a client a new secret, which is shown only once; the old one is invalid at once",
    (admin, id, { operator }): Promise<Shown> =>
      onceOnly((operator ? admin.operator : admin).clients.regenerateSecret.mutate({ id }), SECRET_LOST),
  ).addOption(new Yes("The client's present secret stops working at once."));
}

/** An action on a client. An operator who does not find it learns of the option that reaches those of others. */
const hinting =
  <Args extends unknown[]>(action: (admin: AdminClient, ...args: Args) => Promise<Output>) =>
  (admin: AdminClient, ...args: Args): Promise<Output> =>
    action(admin, ...args).catch(async (error: unknown) => {
      const { refusalOf } = await import("@countersign/admin");
      const { operator } = args.at(-2) as Common;
      const isOperator = async () => (await admin.account.get.query().catch(() => undefined))?.role === "operator";
      if (operator || refusalOf(error)?.httpStatus !== 404 || !(await isOperator())) throw error;
      throw new CommandFailure(EXIT.notFound, `You own no client ${printable(String(args[0]))}. With --operator you reach all clients.`);
    });

function clientLost({ operator }: Common): string {
  const [list, regenerate] = ["list", "regenerate-secret"].map((name) => `\`countersign clients ${name}${operator ? " --operator" : ""}\``);
  return `The client may have been created. See ${list}. A secret is not shown again: make a new one with ${regenerate}, or delete the client.`;
}

const SECRET_LOST = "The client may have a new secret, so that the old one no longer works. Run the command again for another one.";

/** What a new client still needs before it can get a token. */
function stillMissing(client: Shown, { operator }: Common): string | undefined {
  const { clientId, grantTypes, redirectUris, tokenEndpointAuthMethod } = client;
  const update = `countersign clients update ${clientId}${operator ? " --operator" : ""}`;
  if (tokenEndpointAuthMethod === "private_key_jwt" && !hasKeys(client))
    return operator ? `This client cannot authenticate without a key yet. Add one with \`${update} --jwks @FILE\`.` : NEEDS_KEYS;
  if (!grantTypes.includes("authorization_code") || redirectUris.length > 0) return undefined;
  return `Users cannot return to this client: it has no redirect URI yet. Add one with \`${update} --redirect-uri URI\`.`;
}

/** Only operators see keys, and only they can add any. */
const hasKeys = (client: Shown): boolean => "jwks" in client && (client.jwks ?? client.jwksUri) !== null;

const NEEDS_KEYS = "Only operators can add keys. This client cannot authenticate until one does (--jwks or --jwks-uri).";

const NO_OWN_CLIENTS = "You own no clients. Create one with `countersign clients create`; operators see those of everyone with --operator.";
const NO_CLIENTS = "There are no clients. Create one with `countersign clients create`, or let applications register themselves.";
const NONE_FOUND = "No client has this text in its name or client_id.";

const output = (client: Shown): Output => ({
  value: client,
  text: shown(client),
  ...(client.clientSecret !== undefined && { shownOnce: "clientSecret" }),
});

async function created(admin: AdminClient, name: string, options: ClientOptions): Promise<Shown> {
  assertOwnOptions(options);
  const { operator, clientId, ownerId: owner, jwks, ...members } = options;
  if (!operator) return onceOnly(admin.clients.create.mutate({ ...asDeveloper(members), name }), clientLost(options));
  const grantTypes = members.grantTypes ?? ["authorization_code"];
  const client = { ...members, name, grantTypes, jwks: keySetIn(jwks), clientId, ownerId: await ownerId(admin, owner) };
  return onceOnly(admin.operator.clients.create.mutate(client), clientLost(options));
}

type Changes = ClientOptions & {
  readonly enable?: true;
  readonly disable?: true;
  readonly moreScopes?: readonly string[];
  readonly lessScopes?: readonly string[];
};

/** As `collect`, for a scope. The server could only say which entry of the whole list is none. */
function added(scope: string, before?: readonly string[]): readonly string[] {
  if (!isScopeToken(scope) || scope.length > 256)
    throw new InvalidArgumentError("must be scopes: up to 256 visible ASCII characters each, no quotation mark, no backslash.");
  return collect(scope, before);
}

/**
 * The scopes of a client, changed, with the version to which the change belongs: what somebody else changes at the same time is not lost.
 * @throws {CommandFailure} for a scope to remove that the client does not have
 */
async function changedScopes(admin: AdminClient, id: string, { operator, moreScopes = [], lessScopes = [] }: Changes) {
  if (moreScopes.length + lessScopes.length === 0) return {};
  const { scopes, updatedAt } = await (operator ? admin.operator : admin).clients.get.query({ id });
  const missing = lessScopes.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0)
    throw new CommandFailure(EXIT.failed, `--remove-scope: the client has no scope ${printable(missing.join(", "))}.`);
  return { scopes: [...new Set([...scopes, ...moreScopes])].filter((scope) => !lessScopes.includes(scope)), updatedAt };
}

/** The user of `--owner`; null for none. @throws {CommandFailure} */
const ownerId = async (admin: AdminClient, given: string | undefined): Promise<string | null | undefined> =>
  given === "none" ? null : given && userId(admin, given);

async function updated(admin: AdminClient, id: string, options: Changes): Promise<Shown> {
  assertOwnOptions(options);
  const { operator, enable, disable, ownerId: owner, jwks, moreScopes: _, lessScopes: __, ...members } = options;
  if (enable && disable) throw new CommandFailure(EXIT.failed, "Give --enable or --disable, not both.");
  const { updatedAt, ...scopes } = await changedScopes(admin, id, options);
  const patch = { ...members, ...scopes, enabled: enable || disable ? disable !== true : undefined, jwks: keySetIn(jwks) };
  if (Object.values({ ...patch, owner }).every((value) => value === undefined))
    throw new CommandFailure(EXIT.failed, "Nothing to change: give at least one option. See `countersign clients update --help`.");
  if (operator) return admin.operator.clients.update.mutate({ id, patch: { ...patch, ownerId: await ownerId(admin, owner) }, updatedAt });
  return admin.clients.update.mutate({ id, patch: asDeveloper(patch), updatedAt });
}

type Patch = ManagementInputs["clients"]["update"]["patch"];

/** The server refuses grants and methods that only operators may give. */
const asDeveloper = (members: ManagementInputs["operator"]["clients"]["update"]["patch"]) => members as Patch;

/** The id of a client that is named by id or client_id. An unknown name is returned as it is, for the server to look up. */
export async function recordId(admin: AdminClient, given: string, { operator }: Common = {}): Promise<string> {
  const search = given.slice(0, 200);
  const found = (at: object) => admin.operator.clients.list.query({ ...(search && { search }), ...at });
  const clients = operator ? await everyPage("clients", found) : (await admin.clients.list.query()).clients;
  return clients.find(({ clientId }) => clientId === given)?.id ?? given;
}

type ListOptions = Common &
  Most & { readonly search?: string; readonly ownerId?: string; readonly unusedSince?: number; readonly isAgent?: true };

async function list(admin: AdminClient, { operator, search, limit, ownerId: owner, ...filters }: ListOptions): Promise<Output> {
  const ofOperators = { ...filters, ...(owner !== undefined && { ownerId: asId("--owner", await userId(admin, owner)) }) };
  if (!operator && Object.values(ofOperators).some((value) => value !== undefined))
    throw new CommandFailure(EXIT.failed, "--owner, --unused-since and --agents are for operators only; add --operator if you are one.");
  const page = (at: object) =>
    operator ? admin.operator.clients.list.query({ search, ...ofOperators, ...at }) : admin.clients.list.query({ search, ...at });
  const { items, total } = await listed("clients", page, limit);
  const all = operator ? NO_CLIENTS : NO_OWN_CLIENTS;
  const whenEmpty = search !== undefined ? NONE_FOUND : Object.keys(ofOperators).length > 0 ? "No client matches." : all;
  return { value: items, text: () => listing(items), total, whenEmpty };
}

const listing = (clients: readonly OwnClient[]): string =>
  table(clients, {
    ...({ ID: "id", CLIENT_ID: "clientId", ENVIRONMENT: "environment", ENABLED: "enabled" } as const),
    GRANTS: ({ grantTypes }) => grantTypes.map((grant) => grant.slice(grant.lastIndexOf(":") + 1)).join(","),
    NAME: "name",
  });

function shown(client: Shown): string {
  const { id, clientId, name, createdAt, updatedAt, lastUsedAt, clientSecret, ...rest } = client;
  const members = Object.entries(rest).map(([member, value]): [string, Cell] => [
    member,
    typeof value === "object" && value !== null && !Array.isArray(value) ? JSON.stringify(value) : (value as Cell),
  ]);
  return record({
    id,
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    name,
    ...Object.fromEntries(members),
    createdAt: when(createdAt),
    updatedAt: when(updatedAt),
    lastUsedAt: when(lastUsedAt),
  });
}
