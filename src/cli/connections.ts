import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { type Command, Option } from "commander";
import { CONNECTION_AUTH_METHODS, PRESETS } from "../upstream/connection.ts";
import { CommandFailure, EXIT, secretIn } from "./failure.ts";
import { collect, LIMIT, listed, type Most, managementCommands, type Output, scopesBy, setting, Yes } from "./management-api.ts";
import { REALM, realmColumn, realmNamed } from "./realms.ts";
import { printable, record, table, when, whenOf } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { userId } from "./user-files-and-factors.ts";

type Connection = ManagementOutputs["operator"]["connections"]["get"];
type NewConnection = ManagementInputs["operator"]["connections"]["create"];

/** `clientSecret` names its file. */
type AddOptions = Partial<NewConnection> & { readonly realm?: string };
type UpdateOptions = ManagementInputs["operator"]["connections"]["update"] & { readonly enable?: true; readonly disable?: true };

const withSettings = (command: Command): Command =>
  command
    .option("--title <title>", "what users see on the button")
    .addOption(setting("scopes", "--scope <scope>", "a scope that it asks for; repeat for more. Replaces the list", scopesBy(collect)))
    .addOption(
      setting(
        "domains",
        "--domain <domain>",
        "a mail domain that the provider is trusted for; repeat for more. Replaces the list",
        collect,
      ),
    )
    .addOption(setting("trustsAcr", "--trust-acr", "believe how strongly the provider says that users signed in"))
    .addOption(setting("trustsAcr", "--no-trust-acr", "do not believe it (default)"))
    .addOption(setting("clientSecret", "--secret-file <file>", "read the client secret from a file, or from standard input with -"));

export function registerConnectionCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "connections", "identity providers that users sign in by, for operators");

  const list = async (admin: AdminClient, { realm, limit }: Most & { readonly realm?: string }) => {
    const inside = await realmNamed(admin, realm);
    const { items, total } = await listed("connections", (at) => admin.operator.connections.list.query({ ...inside, ...at }), limit);
    const columns = { NAME: "name", TITLE: "title", ISSUER: "issuer", DOMAINS: "domains", ENABLED: "enabled" } as const;
    const all = { ...columns, REALM: await realmColumn(admin) };
    const text = () => table(items, all);
    return { value: items, text, total, whenEmpty: "No connections yet. Add one: countersign connections add google --client-id ID" };
  };
  command("list", "list connections", list).addOption(LIMIT).option("--realm <realm>", "name or id of a realm, for its connections alone");
  registerAdd(command, terminal);
  command("show <name>", "show a connection", async (admin, name: string) =>
    shown(admin, await admin.operator.connections.get.query({ name })),
  );
  withSettings(
    command(
      "update <name>",
      "change a connection",
      async (admin, name: string, { enable, disable, clientSecret: file, ...changes }: UpdateOptions) => {
        const clientSecret = file === undefined ? undefined : secretIn(file);
        const enabled = enable || disable ? enable === true : undefined;
        return shown(admin, await admin.operator.connections.update.mutate({ ...changes, name, enabled, clientSecret }));
      },
    ),
  )
    .option("--client-id <id>", "this server's client id at the provider")
    .addOption(new Option("--enable", "offer it to users").conflicts("disable"))
    .option("--disable", "do not offer it");
  command("identities <user>", "list the accounts elsewhere that sign in to a user's account", async (admin, named: string) => {
    const { identities } = await admin.operator.connections.identities.query({ userId: await userId(admin, named) });
    const columns = { PROVIDER: "title", ISSUER: "issuer", SUBJECT: "subject", ADDRESS: "email", SINCE: whenOf("createdAt") } as const;
    const text = table(identities, columns);
    return { value: identities, text, whenEmpty: "No account elsewhere signs in to this one." };
  });
  command("test <name>", "read the provider's metadata, and try the client id and secret", test);
  command("remove <name>", "remove a connection; users who can only sign in by it need a new password", async (admin, name: string) => {
    await admin.operator.connections.remove.mutate({ name });
    return { value: { name }, text: `removed ${printable(name)}` };
  }).addOption(new Yes("Remove this connection?"));
}

function registerAdd(command: ReturnType<typeof managementCommands>, terminal: Terminal): void {
  withSettings(
    command(
      "add <name>",
      "add a connection: a preset by its name, or any provider by --issuer",
      (admin, name: string, options: AddOptions) => add(admin, name, options, terminal),
    ),
  )
    .requiredOption("--client-id <id>", "this server's client id at the provider")
    .option("--issuer <url>", "the provider's issuer identifier")
    .addOption(new Option("--preset <preset>", "a known provider; default: the name").choices(PRESETS))
    .option("--tenant <id>", "the directory (tenant) id, for microsoft")
    .addOption(new Option("--auth-method <method>", "how this server authenticates at the provider").choices(CONNECTION_AUTH_METHODS))
    .addOption(REALM);
}

async function add(admin: AdminClient, name: string, options: AddOptions, terminal: Terminal): Promise<Output> {
  const { realm, clientId = "", clientSecret: file, ...settings } = options;
  const { issuer, authMethod } = settings;
  const preset = settings.preset ?? (issuer === undefined ? PRESETS.find((each) => each === name) : undefined);
  const instead = "Use --secret-file; with - the secret is read from standard input.";
  const asked = () => terminal.ask("Client secret: ", { hidden: true, instead });
  const hasSecret = (authMethod ?? "client_secret") === "client_secret";
  const clientSecret = hasSecret ? await (file === undefined ? asked() : secretIn(file)) : undefined;
  const made = await admin.operator.connections.create.mutate({
    ...{ ...settings, ...(await realmNamed(admin, realm)) },
    ...{ name, preset, clientId, clientSecret },
  });
  return {
    ...(await shown(admin, made)),
    warning: () => `Register the redirect URI at the provider, then: countersign connections test ${name}`,
  };
}

async function test(admin: AdminClient, name: string): Promise<Output> {
  const verdict = await admin.operator.connections.test.query({ name });
  if (verdict.works) return { value: verdict, text: "It works: the provider's metadata can be used, and it knows this server." };
  throw new CommandFailure(
    EXIT.failed,
    `It does not work: ${FAULTS[verdict.reason === "document_of_another_issuer" ? verdict.reason : (verdict.stage ?? "metadata")]} (${verdict.reason}).`,
  );
}

const FAULTS = {
  document_of_another_issuer: "the provider's metadata names another issuer than this connection, and the two must be the same text",
  metadata: "the provider's metadata cannot be used",
  credentials: "the provider does not accept the client id and secret, or the redirect URI",
} as const;

const shown = async (admin: AdminClient, connection: Connection): Promise<Output> => ({
  value: connection,
  text: record({
    name: connection.name,
    title: connection.title,
    issuer: connection.issuer,
    "client id": connection.clientId,
    authentication: connection.authMethod,
    ...(connection.publicKey !== null && { "public key": JSON.stringify(connection.publicKey) }),
    "redirect URI": connection.redirectUri,
    scopes: connection.scopes,
    "trusted domains": connection.domains,
    "trusts acr": connection.trustsAcr,
    realm: (await realmColumn(admin))(connection),
    enabled: connection.enabled,
    changed: when(connection.updatedAt),
  }),
});
