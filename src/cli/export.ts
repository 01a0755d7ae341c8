import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Command } from "commander";
import { SETTING_MEMBERS } from "../clients/client.ts";
import { countOf, everyPage, managing } from "./management-api.ts";
import { asJson, printable } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

type File = ManagementInputs["operator"]["provision"];
type Client = ManagementOutputs["operator"]["clients"]["get"];

/** The members of a client in a file; its owner is named by address. */
const MEMBERS = SETTING_MEMBERS.filter((member) => member !== "ownerId");

/** `countersign export`. */
export function registerExportCommand(program: Command, terminal: Terminal): void {
  program
    .command("export")
    .description("print realms, workload platforms, clients, resources and descriptions of scopes as a provisioning file, without secrets")
    .action(
      running(terminal, async () => {
        const admin = await managing(terminal);
        const found = await clientsFound(admin);
        const { kept = [], keyless = [] } = Object.groupBy(found, (client) => (isKeyless(client) ? "keyless" : "kept"));
        terminal.write(asJson(await fileOf(admin, kept)));
        const left = keyless.map(({ clientId }) => `Left out: the client ${printable(clientId)}, which has no key yet.`);
        for (const line of [...(await registeredLeft(admin)), ...left, ...(await connectionsLeft(admin))])
          terminal.complain(line, "yellow");
      }),
    );
}

const isKeyless = ({ tokenEndpointAuthMethod, jwks, jwksUri }: Client): boolean =>
  tokenEndpointAuthMethod === "private_key_jwt" && (jwks ?? jwksUri) === null;

/** Of the clients that a file can make. */
const ORIGINS = ["operator", "developer"] as const;

const clientsFound = async ({ operator }: AdminClient): Promise<readonly Client[]> =>
  (await Array.fromAsync(ORIGINS, (origin) => everyPage("clients", (at) => operator.clients.list.query({ origin, ...at })))).flat();

/** There may be any number of clients that registered themselves, so they are counted only. */
async function registeredLeft({ operator }: AdminClient): Promise<readonly string[]> {
  const page = await operator.clients.list.query({ origin: "dynamic", limit: 1 });
  return page.clients.length === 0 ? [] : [`Left out: clients that registered themselves (${countOf(page)}).`];
}

/** A provisioning file of what the server has. Entries are in the order of their names, so that two files can be compared. */
async function fileOf({ operator }: AdminClient, clients: readonly Client[]): Promise<File> {
  const realms = await everyPage("realms", (at) => operator.realms.list.query({ sort: "name", ...at }));
  const issuers = await everyPage("issuers", (at) => operator.workloadIssuers.list.query(at));
  const ofRealms = async <Entry>(read: (realmId: string) => Promise<readonly Entry[]>) =>
    (await Array.fromAsync(realms, async ({ id, name: realm }) => (await read(id)).map((entry) => ({ ...entry, realm })))).flat();
  return {
    realms: await Array.fromAsync(realms, ({ id }) => realmOf(operator, id)),
    workloadIssuers: issuers.map(({ issuer, kind, jwksUri, bundleEndpoint, algorithms, maxLifetime, singleUse, allowPrivate }) => ({
      ...{ issuer, kind, jwksUri, bundleEndpoint, algorithms: [...algorithms], maxLifetime, singleUse, allowPrivate },
    })),
    clients: await clientsOf(operator, clients),
    scopes: await ofRealms(async (realmId) => {
      const scopes = await everyPage("scopes", (at) => operator.scopes.list.query({ realmId, ...at }));
      return scopes.filter(({ builtIn }) => !builtIn).map(({ name, title, detail }) => ({ name, title, detail }));
    }),
    resources: await ofRealms(async (realmId) => {
      const resources = await everyPage("resources", (at) => operator.resources.list.query({ realmId, ...at }));
      return resources.map(({ resource, name, scopes, clients: kinds, accessTokenLifetime, enabled }) => ({
        ...{ resource, name, scopes: [...scopes], clients: [...kinds], accessTokenLifetime, enabled },
      }));
    }),
  };
}

type Operator = AdminClient["operator"];
type RealmEntry = NonNullable<File["realms"]>[number];

/** Without the scopes of open registration, where they are those of the settings: a file cannot say that. */
async function realmOf({ realms }: Operator, id: string): Promise<RealmEntry> {
  const { name, dynamicRegistrationScopes: scopes, requiredAcr, branding } = await realms.get.query({ id });
  const { logoData: logo, name: product = null, accent = null, termsUrl = null, privacyUrl = null, support = null } = branding;
  return {
    name,
    ...(scopes !== null && { dynamicRegistrationScopes: [...scopes] }),
    branding: { name: product, logo, accent, termsUrl, privacyUrl, support },
    requiredAcr: requiredAcr as RealmEntry["requiredAcr"], // a realm never has the weakest one
  };
}

const MOST_ADDRESSES = 200;

async function clientsOf(operator: Operator, clients: readonly Client[]): Promise<NonNullable<File["clients"]>> {
  const identities = await everyPage("identities", (at) => operator.workloadIdentities.list.query(at));
  const identitiesOf = Map.groupBy(identities, ({ clientId }) => clientId);
  const owners = [...new Set(clients.flatMap(({ ownerId }) => ownerId ?? []))];
  const addresses = new Map<string, string>();
  for (let from = 0; from < owners.length; from += MOST_ADDRESSES) {
    const { users } = await operator.users.addresses.query({ ids: owners.slice(from, from + MOST_ADDRESSES) });
    for (const { id, email } of users) addresses.set(id, email);
  }
  const entry = (client: Client) => ({
    clientId: client.clientId,
    ...(Object.fromEntries(MEMBERS.map((member) => [member, client[member] ?? defaultOf(member)])) as Pick<
      Client,
      (typeof MEMBERS)[number]
    >),
    ownerEmail: addresses.get(client.ownerId ?? "") ?? null,
    ...(client.tokenEndpointAuthMethod === "workload_jwt" && {
      workloadIdentities: (identitiesOf.get(client.clientId) ?? []).map(({ issuer, subject, claims }) => ({ issuer, subject, claims })),
    }),
  });
  return clients.toSorted((a, b) => (a.clientId < b.clientId ? -1 : 1)).map(entry) as NonNullable<File["clients"]>;
}

/** The one member that is left out where it is false. */
const defaultOf = (member: (typeof MEMBERS)[number]): false | null => (member === "requirePushedAuthorizationRequests" ? false : null);

async function connectionsLeft({ operator }: AdminClient): Promise<readonly string[]> {
  const connections = await everyPage("connections", (at) => operator.connections.list.query(at));
  return connections.length === 0
    ? []
    : [
        `Left out: connections to identity providers (${connections.length}), which need their secrets: countersign connections list --json`,
      ];
}
