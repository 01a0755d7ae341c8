import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { assertOwnOptions, type ClientOptions, describing, developerMembers, operatorMembers } from "./client-options.ts";
import { CommandFailure, EXIT, EXIT_CODES } from "./failure.ts";
import { everyPage, managing } from "./management-api.ts";
import { asJson, type Cell, record, table, when } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";
import { userId } from "./users-and-realms.ts";

type OwnClient = ManagementOutputs["clients"]["get"];
type AnyClient = ManagementOutputs["operator"]["clients"]["get"];
type Shown = (OwnClient | AnyClient) & { readonly clientSecret?: string };

interface Common {
  readonly json?: true;
  readonly operator?: true;
}

/** `countersign clients …`. */
export function registerClientCommands(program: Command, terminal: Terminal): void {
  const clients = program
    .command("clients")
    .description("clients that you own; with --operator all clients; named by id or client_id")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) =>
    clients
      .command(name)
      .description(description)
      .option("--operator", "as an operator: any client, with the members that only operators see and set")
      .option("--json", "as JSON");
  const run = <Args extends unknown[]>(action: (admin: AdminClient, ...args: Args) => Promise<void>) =>
    running(terminal, async (...args: Args) => action(await managing(terminal), ...args));
  const show = (client: Shown, { json }: Common): void => terminal.write(json ? asJson(client) : shown(client));

  command("list", "list clients, newest first").action(
    run(async (admin, options: Common) => {
      const listed = options.operator ? await everyClient(admin) : (await admin.clients.list.query()).clients;
      terminal.write(options.json ? asJson(listed) : listing(listed));
    }),
  );
  const named = <Options extends Common>(action: (admin: AdminClient, id: string, options: Options) => Promise<void>) =>
    run(async (admin, given: string, options: Options) => action(admin, await recordId(admin, given, options), options));
  command("show <client>", "show one client")
    .alias("get")
    .action(
      named(async (admin, id, options) =>
        show(options.operator ? await admin.operator.clients.get.query({ id }) : await admin.clients.get.query({ id }), options),
      ),
    );
  describing(command("create <name>", "create a client; its secret is shown only once"))
    .option("--client-id <id>", "for operators: its client_id")
    .option("--owner <user>", "for operators: the user who manages it, by id or e-mail address")
    .action(
      run(async (admin, name: string, options: Common & ClientOptions & { readonly clientId?: string; readonly owner?: string }) => {
        const client = await created(admin, name, options);
        show(client, options);
        if (client.tokenEndpointAuthMethod === "private_key_jwt" && !options.operator)
          terminal.complain("Only operators can add keys. This client cannot authenticate until one does (--jwks or --jwks-uri).");
      }),
    );
  describing(command("update <client>", "change the given members, and no others"))
    .option("--name <name>", "its name")
    .option("--enable", "enable it again")
    .option("--disable", "disable it everywhere, at once")
    .option("--owner <user>", "for operators: the user who manages it from now on, by id or e-mail address, or none")
    .action(named(async (admin, id, options: Changes) => show(await updated(admin, id, options), options)));
  command("enable <client>", "enable a client again").action(
    named(async (admin, id, options) => show(await updated(admin, id, { ...options, enable: true }), options)),
  );
  command("disable <client>", "disable a client everywhere, at once").action(
    named(async (admin, id, options) => show(await updated(admin, id, { ...options, disable: true }), options)),
  );
  command("delete <client>", "delete a client with its keys, grants and tokens").action(
    named(async (admin, id, { operator, json }) => {
      await (operator ? admin.operator.clients.delete.mutate({ id }) : admin.clients.delete.mutate({ id }));
      terminal.write(json ? asJson({ deleted: id }) : `deleted ${id}`);
    }),
  );
  command("regenerate-secret <client>", "give a client a new secret, which is shown only once; the old one is invalid at once").action(
    named(async (admin, id, options) => show(await withNewSecret(admin, id, options), options)),
  );
}

const withNewSecret = (admin: AdminClient, id: string, { operator }: Common): Promise<Shown> =>
  operator ? admin.operator.clients.regenerateSecret.mutate({ id }) : admin.clients.regenerateSecret.mutate({ id });

async function created(
  admin: AdminClient,
  name: string,
  options: Common & ClientOptions & { clientId?: string; owner?: string },
): Promise<Shown> {
  assertOwnOptions(options);
  if (!options.operator) return admin.clients.create.mutate(asDeveloper({ name, ...developerMembers(options) }));
  const { clientId, owner } = options;
  const grantTypes = options.grant ?? ["authorization_code"];
  return admin.operator.clients.create.mutate({
    name,
    ...operatorMembers(options),
    grantTypes: [...grantTypes],
    ...(clientId !== undefined && { clientId }),
    ...(owner !== undefined && { ownerId: await ownerId(admin, owner) }),
  });
}

/** Options of `update`. */
type Changes = Common & ClientOptions & { readonly enable?: true; readonly disable?: true };

/** The user of `--owner`; null for none. @throws {CommandFailure} */
const ownerId = async (admin: AdminClient, given: string): Promise<string | null> => (given === "none" ? null : userId(admin, given));

async function updated(admin: AdminClient, id: string, options: Changes): Promise<Shown> {
  assertOwnOptions(options);
  if (options.enable && options.disable) throw new CommandFailure(EXIT.failed, "Give --enable or --disable, not both.");
  const common = {
    ...(options.name !== undefined && { name: options.name }),
    ...((options.enable || options.disable) && { enabled: options.disable !== true }),
  };
  const members = { ...common, ...operatorMembers(options) };
  if (Object.keys(members).length === 0 && options.owner === undefined)
    throw new CommandFailure(EXIT.failed, "Nothing to change: give at least one option. See `countersign clients update --help`.");
  if (options.operator) {
    const patch = { ...members, ...(options.owner !== undefined && { ownerId: await ownerId(admin, options.owner) }) };
    return admin.operator.clients.update.mutate({ id, patch });
  }
  return admin.clients.update.mutate({ id, patch: asDeveloper({ ...common, ...developerMembers(options) }) });
}

/** The server refuses grants that only operators may give. */
const asDeveloper = <Members extends { grantTypes?: readonly string[] }>(members: Members) =>
  members as Omit<Members, "grantTypes"> & Pick<ManagementInputs["clients"]["create"], "grantTypes">;

/** The id of a client that is named by id or client_id. An unknown name is returned as it is, for the server to look up. */
export async function recordId(admin: AdminClient, given: string, { operator }: Common = {}): Promise<string> {
  const clients = operator ? await everyClient(admin, given.slice(0, 200)) : (await admin.clients.list.query()).clients;
  return clients.find(({ clientId }) => clientId === given)?.id ?? given;
}

const everyClient = (admin: AdminClient, search?: string): Promise<readonly AnyClient[]> =>
  everyPage(async (at) => {
    const filter = search !== undefined && search !== "" ? { search } : {};
    const { clients, nextCursor } = await admin.operator.clients.list.query({ limit: 200, ...filter, ...at });
    return { items: clients, nextCursor };
  });

const listing = (clients: readonly OwnClient[]): string =>
  table(
    ["ID", "CLIENT_ID", "ENVIRONMENT", "ENABLED", "GRANTS", "NAME"],
    clients.map(({ id, clientId, environment, enabled, grantTypes, name }): readonly Cell[] => [
      id,
      clientId,
      environment,
      enabled,
      grantTypes.map((grant) => grant.slice(grant.lastIndexOf(":") + 1)).join(","),
      name,
    ]),
  );

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
