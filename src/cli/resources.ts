import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type AuthenticationDemand, PHISHING_RESISTANT_ACR, TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import { CLIENT_KINDS, type ClientKind } from "../resources/resource.ts";
import { CommandFailure, EXIT } from "./failure.ts";
import {
  collect,
  digits,
  LIMIT,
  listed,
  type Most,
  managementCommands,
  type Output,
  orNull,
  scopesBy,
  setting,
  Yes,
} from "./management-api.ts";
import { REALM, realmNamed, SIGN_INS, signInClass } from "./realms.ts";
import { printable, record, table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Resource = ManagementOutputs["operator"]["resources"]["get"];
type Inspection = ManagementOutputs["operator"]["resources"]["inspect"];
type Settings = Omit<ManagementInputs["operator"]["resources"]["update"], "resource" | "realmId" | "updatedAt">;

type Options = Omit<Settings, "scopes" | "enabled"> & {
  readonly realm?: string;
  readonly scope?: readonly string[];
  readonly stepUp?: readonly ScopeDemand[];
  readonly enable?: true;
  readonly disable?: true;
};

const lifetime = orNull("default", digits(/^\d{1,5}$/, "a number of seconds, or default"));

const kind = (value: string, before: readonly ClientKind[] = []): readonly ClientKind[] => {
  const found = CLIENT_KINDS.find((each) => each === value);
  if (found === undefined) throw new InvalidArgumentError(`must be ${CLIENT_KINDS.join(", ")}`);
  return [...before, found];
};

/** What a scope demands of a sign-in; undefined: nothing. */
export type ScopeDemand = { readonly scope: string; readonly stepUp: AuthenticationDemand | undefined };

/** Reads `scope=mfa`, `scope=phr,300`, `scope=any,300` or `scope=none`, one of several. Pure. @throws {InvalidArgumentError} */
export function scopeDemand(value: string, before: readonly ScopeDemand[] = []): readonly ScopeDemand[] {
  const at = value.lastIndexOf("=");
  const [scope, demand] = [value.slice(0, at), value.slice(at + 1)];
  const [, name = "", seconds] = /^(none|any|mfa|phr)(?:,([1-9]\d{0,7}))?$/.exec(demand) ?? [];
  const asksNothing = name === "none" ? seconds !== undefined : name === "any" && seconds === undefined;
  if (at < 1 || name === "" || asksNothing)
    throw new InvalidArgumentError("must be a scope, =, and mfa, phr or any with a number of seconds after a comma, or none");
  if (name === "none") return [...before, { scope, stepUp: undefined }];
  const acr = SIGN_INS[signInClass(name)] ?? undefined;
  return [...before, { scope, stepUp: { ...(acr && { acr }), ...(seconds !== undefined && { maxAge: Number(seconds) }) } }];
}

/** A demand as `scopeDemand` reads it. Pure. */
export function demandText({ acr, maxAge }: AuthenticationDemand): string {
  const word = acr === TWO_FACTOR_ACR ? "mfa" : acr === PHISHING_RESISTANT_ACR ? "phr" : "any";
  return maxAge === undefined ? word : `${word},${maxAge}`;
}

const withSettings = (command: Command): Command =>
  command
    .addOption(REALM)
    .option("--name <name>", "what users see")
    .option("--scope <scope>", "a scope that it has; repeat for more. Replaces the list", scopesBy(collect))
    .addOption(
      setting("clients", "--client <kind>", `clients that may request its scopes: ${CLIENT_KINDS.join(", ")}; repeat for more`, kind),
    )
    .option(
      "--step-up <demand>",
      "the sign-in that a scope demands: SCOPE=mfa, SCOPE=phr,300 (seconds), SCOPE=none; repeatable",
      scopeDemand,
    )
    .addOption(
      setting("accessTokenLifetime", "--lifetime <seconds>", "of its access tokens, at most the server's; default: the server's", lifetime),
    );

export function registerResourceCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "resources", "protected resources and their scopes, for operators");

  command("list", "list resources", list)
    .addOption(REALM)
    .option("--search <text>", "only those with this text in URI or name")
    .addOption(LIMIT);
  withSettings(
    command(
      "add <url>",
      "add a resource, by what its metadata document says and the options",
      async (admin, url: string, options: Options) => shown(await add(admin, terminal, url, options)),
    ),
  );
  command("show <url>", "show a resource", async (admin, resource: string, { realm }: Options) =>
    shown(await admin.operator.resources.get.query({ ...(await realmNamed(admin, realm)), resource })),
  ).addOption(REALM);
  withSettings(command("update <url>", "change a resource", update))
    .addOption(new Option("--enable", "accept requests for it").conflicts("disable"))
    .option("--disable", "refuse requests for it");
  command("diff <url>", "compare the record of a resource with its metadata document", diff).addOption(REALM);
  command("remove <url>", "remove the record of a resource", async (admin, resource: string, { realm }: Options) => {
    const removed = await admin.operator.resources.remove.mutate({ ...(await realmNamed(admin, realm)), resource });
    return { value: removed, text: `removed ${printable(removed.resource)}` };
  })
    .addOption(REALM)
    .addOption(new Yes("The record goes with its scopes, their words and its settings."));
}

async function list(admin: AdminClient, { realm, search, limit }: Options & Most & { readonly search?: string }): Promise<Output> {
  const filter = { ...(await realmNamed(admin, realm)), search };
  const { items, total } = await listed("resources", (at) => admin.operator.resources.list.query({ ...filter, ...at }), limit);
  const scopes = (item: Resource) => namesOf(item.scopes);
  const text = () => table(items, { RESOURCE: "resource", NAME: "name", SCOPES: scopes, CLIENTS: "clients", ENABLED: "enabled" });
  const none =
    search === undefined ? "No resources yet. Add one: countersign resources add URL" : "No resource has this text in its URI or name.";
  return { value: items, text: items.length > 0 ? text : none, total };
}

const namesOf = (scopes: Resource["scopes"]): readonly string[] => scopes.map(({ name }) => name);

const shown = (resource: Resource): Output => ({
  value: resource,
  text: record({
    resource: resource.resource,
    name: resource.name,
    scopes: namesOf(resource.scopes),
    "sign-in that they demand": resource.scopes.flatMap(({ name, stepUp }) => (stepUp ? [`${name}=${demandText(stepUp)}`] : [])),
    clients: resource.clients,
    "access token lifetime": resource.accessTokenLifetime === null ? "the server's" : `${resource.accessTokenLifetime} s`,
    enabled: resource.enabled,
    origin: resource.origin,
    changed: when(resource.updatedAt),
  }),
});

type Scopes = NonNullable<Settings["scopes"]>;

/** The scopes with what they demand from now on. @throws {CommandFailure} for a scope that is not among them */
function demanding(scopes: Scopes, demands: readonly ScopeDemand[]): Scopes {
  const unknown = demands.find(({ scope }) => !scopes.some(({ name }) => name === scope));
  if (unknown !== undefined) throw new CommandFailure(EXIT.failed, `--step-up: the resource has no scope ${printable(unknown.scope)}.`);
  return scopes.map(({ stepUp, ...scope }) => {
    const named = demands.findLast((demand) => demand.scope === scope.name);
    const next = named === undefined ? stepUp : named.stepUp;
    return { ...scope, ...(next && { stepUp: next }) };
  });
}

/** The settings that options name. A scope that stays keeps its words and its demand. */
function settingsOf({ scope, stepUp = [], enable, disable, ...members }: Options, before: Resource["scopes"] = []): Settings {
  const scopes = scope?.map((each) => before.find((known) => known.name === each) ?? { name: each }) ?? before;
  return {
    ...members,
    scopes: scope !== undefined || stepUp.length > 0 ? demanding(scopes, stepUp) : undefined,
    enabled: enable || disable ? enable === true : undefined,
  };
}

/** @throws {CommandFailure} when the metadata cannot be used and the options do not name the scopes */
async function add(admin: AdminClient, terminal: Terminal, resource: string, { realm, ...options }: Options): Promise<Resource> {
  const named = { ...(await realmNamed(admin, realm)), resource };
  const found = await admin.operator.resources.inspect.query(named);
  const settings = settingsOf({
    ...(found.metadata && { scope: found.metadata.scopes, ...(found.metadata.name !== null && { name: found.metadata.name }) }),
    ...(found.metadata === null && options.scope === undefined && (await asked(found, options, terminal))),
    ...options,
  });
  return admin.operator.resources.create.mutate({ ...named, ...settings });
}

/** What the user says of a resource without metadata. @throws {CommandFailure} without a terminal, or where nothing is said */
async function asked(found: Inspection, { name }: Options, terminal: Terminal): Promise<Options> {
  const instead = "Name its scopes with --scope to add it without its metadata.";
  if (!terminal.interactive) throw new CommandFailure(EXIT.failed, `${faultText(found)} ${instead}`);
  terminal.complain(faultText(found));
  const scopes = (await terminal.ask("Its scopes, separated by spaces: ", { instead })).trim();
  if (scopes === "") throw new CommandFailure(EXIT.failed, "Nothing was added.");
  const shownAs = name ?? (await terminal.ask("What users see as its name (empty: its address): ", { instead })).trim();
  return { scope: scopes.split(/ +/), ...(shownAs !== "" && { name: shownAs }) };
}

/** The most frequent faults of metadata documents in words. */
const FAULTS: Readonly<Record<string, string>> = {
  unreachable: "nothing answers there",
  too_slow: "it does not come in time",
  too_large: "it is larger than 64 KiB",
  status_not_200: "the answer has another status than 200, and redirects are not followed",
  not_json: "it is not JSON",
  name_not_resolved: "its host name is unknown",
  address_not_public: "its host has no public address",
  resource_differs: "its `resource` is another one",
  issuer_not_named: "its `authorization_servers` do not name this server",
};

function faultText({ metadataUrl, fault }: Inspection): string {
  const words = fault === null ? undefined : FAULTS[fault];
  return `${printable(metadataUrl)} cannot be used: ${words === undefined ? fault : `${words} (${fault})`}.`;
}

async function update(admin: AdminClient, resource: string, { realm, ...options }: Options): Promise<Output> {
  const named = { ...(await realmNamed(admin, realm)), resource };
  const writesScopes = options.scope !== undefined || options.stepUp !== undefined;
  const before = writesScopes ? await admin.operator.resources.get.query(named) : undefined;
  const changes = { ...settingsOf(options, before?.scopes), ...(before && { updatedAt: before.updatedAt }) };
  return shown(await admin.operator.resources.update.mutate({ ...named, ...changes }));
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
