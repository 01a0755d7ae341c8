import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CLIENT_KINDS, type ClientKind } from "../resources/resource.ts";
import { collect } from "./client-options.ts";
import { CommandFailure, EXIT } from "./failure.ts";
import { managementCommands, type Output } from "./management-api.ts";
import { realmNamed } from "./scopes.ts";
import { printable, record, table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Resource = ManagementOutputs["operator"]["resources"]["get"];
type Inspection = ManagementOutputs["operator"]["resources"]["inspect"];
type Settings = Omit<ManagementInputs["operator"]["resources"]["update"], "resource" | "realmId">;

type Options = {
  readonly realm?: string;
  readonly name?: string;
  readonly scope?: readonly string[];
  readonly client?: readonly ClientKind[];
  readonly lifetime?: number | "default";
  readonly enable?: true;
  readonly disable?: true;
};

/** Commander takes null for an empty text, so the default is a word. */
const lifetime = (value: string): number | "default" => {
  if (value === "default") return value;
  if (!/^\d{1,5}$/.test(value)) throw new InvalidArgumentError("must be a number of seconds, or default");
  return Number(value);
};

const kind = (value: string, before: readonly ClientKind[] = []): readonly ClientKind[] => {
  const found = CLIENT_KINDS.find((each) => each === value);
  if (found === undefined) throw new InvalidArgumentError(`must be ${CLIENT_KINDS.join(", ")}`);
  return [...before, found];
};

const inRealm = (command: Command): Command => command.option("--realm <realm>", "name or id of the realm; without it: the default realm");

const withSettings = (command: Command): Command =>
  inRealm(command)
    .option("--name <name>", "what users see")
    .option("--scope <scope>", "a scope that it has; repeat for more. Replaces the list", collect)
    .option("--client <kind>", `clients that may request its scopes: ${CLIENT_KINDS.join(", ")}; repeat for more`, kind)
    .option("--lifetime <seconds>", "of its access tokens, at most the server's; default: the server's", lifetime);

/** `countersign resources …`, for operators. */
export function registerResourceCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "resources", "protected resources and their scopes, for operators");

  inRealm(
    command("list", "list resources", async (admin, { realm }: Options) => {
      const { resources } = await admin.operator.resources.list.query(await realmNamed(admin, realm));
      const rows = resources.map(({ resource, name, scopes, clients, enabled }) => [resource, name, namesOf(scopes), clients, enabled]);
      const text = table(["RESOURCE", "NAME", "SCOPES", "CLIENTS", "ENABLED"], rows);
      return { value: resources, text: resources.length > 0 ? text : "No resources yet. Add one: countersign resources add URL" };
    }),
  );
  withSettings(
    command(
      "add <url>",
      "add a resource, by what its metadata document says and the options",
      async (admin, url: string, options: Options) => shown(await add(admin, url, options)),
    ),
  );
  inRealm(
    command("show <url>", "show a resource", async (admin, resource: string, { realm }: Options) =>
      shown(await admin.operator.resources.get.query({ ...(await realmNamed(admin, realm)), resource })),
    ),
  );
  withSettings(command("update <url>", "change a resource", update))
    .addOption(new Option("--enable", "accept requests for it").conflicts("disable"))
    .option("--disable", "refuse requests for it");
  inRealm(command("diff <url>", "compare the record of a resource with its metadata document", diff));
  inRealm(
    command("remove <url>", "remove the record of a resource", async (admin, resource: string, { realm }: Options) => {
      const removed = await admin.operator.resources.remove.mutate({ ...(await realmNamed(admin, realm)), resource });
      return { value: removed, text: `removed ${printable(removed.resource)}` };
    }),
  );
}

const namesOf = (scopes: Resource["scopes"]): readonly string[] => scopes.map(({ name }) => name);

const shown = (resource: Resource): Output => ({
  value: resource,
  text: record({
    resource: resource.resource,
    name: resource.name,
    scopes: namesOf(resource.scopes),
    clients: resource.clients,
    "access token lifetime": resource.accessTokenLifetime === null ? "the server's" : `${resource.accessTokenLifetime} s`,
    enabled: resource.enabled,
    origin: resource.origin,
    changed: when(resource.updatedAt),
  }),
});

/** The settings that options name. A scope that stays keeps its words. */
const settingsOf = ({ name, scope, client, lifetime: seconds, enable, disable }: Options, before: Resource["scopes"] = []): Settings => ({
  ...(name !== undefined && { name }),
  ...(scope !== undefined && { scopes: scope.map((each) => before.find((known) => known.name === each) ?? { name: each }) }),
  ...(client !== undefined && { clients: [...client] }),
  ...(seconds !== undefined && { accessTokenLifetime: seconds === "default" ? null : seconds }),
  ...((enable || disable) && { enabled: enable === true }),
});

/** @throws {CommandFailure} when the metadata cannot be used and the options do not name the scopes */
async function add(admin: AdminClient, resource: string, { realm, ...options }: Options): Promise<Resource> {
  const named = { ...(await realmNamed(admin, realm)), resource };
  const found = await admin.operator.resources.inspect.query(named);
  if (found.metadata === null && options.scope === undefined) {
    const hint = "Name its scopes with --scope to add it without its metadata.";
    throw new CommandFailure(EXIT.failed, `${faultText(found)} ${hint}`);
  }
  const settings = settingsOf({
    ...(found.metadata && { scope: found.metadata.scopes, ...(found.metadata.name !== null && { name: found.metadata.name }) }),
    ...options,
  });
  return admin.operator.resources.create.mutate({ ...named, ...settings });
}

const faultText = ({ metadataUrl, fault }: Inspection): string => `${printable(metadataUrl)} cannot be used: ${fault}.`;

async function update(admin: AdminClient, resource: string, { realm, ...options }: Options): Promise<Output> {
  const named = { ...(await realmNamed(admin, realm)), resource };
  const before = options.scope === undefined ? [] : (await admin.operator.resources.get.query(named)).scopes;
  return shown(await admin.operator.resources.update.mutate({ ...named, ...settingsOf(options, before) }));
}

/** @throws {CommandFailure} when the metadata cannot be used, or the resource has no record */
async function diff(admin: AdminClient, resource: string, { realm }: Options): Promise<Output> {
  const found = await admin.operator.resources.inspect.query({ ...(await realmNamed(admin, realm)), resource });
  if (found.metadata === null) throw new CommandFailure(EXIT.failed, faultText(found));
  if (found.difference === null)
    throw new CommandFailure(EXIT.notFound, `This resource has no record. Add it: countersign resources add ${printable(resource)}`);
  const { added, removed } = found.difference;
  const lines = [...added.map((scope) => `+ ${printable(scope)}`), ...removed.map((scope) => `- ${printable(scope)}`)];
  return { value: found, text: lines.length === 0 ? "The record has the scopes of the metadata document." : lines.join("\n") };
}
