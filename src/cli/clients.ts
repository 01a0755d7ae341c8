import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { assertOwnOptions, type ClientOptions, describing, developerMembers, operatorMembers } from "./client-options.ts";
import { CommandFailure, EXIT, EXIT_CODES } from "./failure.ts";
import { managing } from "./managing.ts";
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

/** `countersign clients …`: what the management API does with clients, from the command line. */
export function registerClientCommands(program: Command, terminal: Terminal): void {
  const clients = program
    .command("clients")
    .description("clients that you own; with --operator all of them; a client is named by its id or its client_id")
    .addHelpText("after", EXIT_CODES);
  const command = (name: string, description: string) =>
    clients
      .command(name)
      .description(description)
      .option("--operator", "as an operator: any client, with what operators alone see and set")
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
  describing(command("create <name>", "make a client; its secret is shown this once"))
    .option("--client-id <id>", "for operators: its client_id")
    .option("--owner <person>", "for operators: who is to manage it, by id or e-mail address")
    .action(
      run(async (admin, name: string, options: Common & ClientOptions & { readonly clientId?: string; readonly owner?: string }) => {
        const client = await created(admin, name, options);
        show(client, options);
        if (client.tokenEndpointAuthMethod === "private_key_jwt" && !options.operator)
          terminal.complain("Keys are an operator's to add: until one does (--jwks or --jwks-uri), this client authenticates nowhere.");
      }),
    );
  describing(command("update <client>", "change what is said, and nothing else"))
    .option("--name <name>", "its name")
    .option("--enable", "let it be used again")
    .option("--disable", "refuse it everywhere, at once")
    .option("--owner <person>", "for operators: who is to manage it from now on, by id or e-mail address; none for nobody")
    .action(named(async (admin, id, options: Changes) => show(await updated(admin, id, options), options)));
  command("enable <client>", "let a client be used again").action(
    named(async (admin, id, options) => show(await updated(admin, id, { ...options, enable: true }), options)),
  );
  command("disable <client>", "refuse a client everywhere, at once").action(
    named(async (admin, id, options) => show(await updated(admin, id, { ...options, disable: true }), options)),
  );
  command("delete <client>", "delete a client, with its keys and all that was given to it").action(
    named(async (admin, id, { operator, json }) => {
      await (operator ? admin.operator.clients.delete.mutate({ id }) : admin.clients.delete.mutate({ id }));
      terminal.write(json ? asJson({ deleted: id }) : `deleted ${id}`);
    }),
  );
  command("regenerate-secret <client>", "give a client a new secret, shown this once; the old one is refused at once").action(
    named(async (admin, id, options) =>
      show(
        options.operator
          ? await admin.operator.clients.regenerateSecret.mutate({ id })
          : await admin.clients.regenerateSecret.mutate({ id }),
        options,
      ),
    ),
  );
}

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

/** What `update` may be told. */
type Changes = Common & ClientOptions & { readonly enable?: true; readonly disable?: true };

/** Of whom `--owner` speaks; null: nobody. @throws {CommandFailure} */
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
    throw new CommandFailure(EXIT.failed, "There is nothing to change: say what. See `countersign clients update --help`.");
  if (options.operator) {
    const patch = { ...members, ...(options.owner !== undefined && { ownerId: await ownerId(admin, options.owner) }) };
    return admin.operator.clients.update.mutate({ id, patch });
  }
  return admin.clients.update.mutate({ id, patch: asDeveloper({ ...common, ...developerMembers(options) }) });
}

/** Grants that are the operator's to give are the server's to refuse. */
const asDeveloper = <Members extends { grantTypes?: readonly string[] }>(members: Members) =>
  members as Omit<Members, "grantTypes"> & Pick<ManagementInputs["clients"]["create"], "grantTypes">;

/** The internal id of a client that is named by it or by its client_id; what is no client_id is left for the server to find or to miss. */
export async function recordId(admin: AdminClient, given: string, { operator }: Common = {}): Promise<string> {
  const clients = operator ? await everyClient(admin, given.slice(0, 200)) : (await admin.clients.list.query()).clients;
  return clients.find(({ clientId }) => clientId === given)?.id ?? given;
}

async function everyClient(admin: AdminClient, search?: string): Promise<readonly AnyClient[]> {
  const all: AnyClient[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.operator.clients.list.query({
      limit: 200,
      ...(cursor !== undefined && { cursor }),
      ...(search !== undefined && search !== "" && { search }),
    });
    all.push(...page.clients);
    if (page.nextCursor === null) return all;
    cursor = page.nextCursor;
  }
}

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
