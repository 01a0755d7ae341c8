import type { AuditActor } from "../audit.ts";
import { type Issue, isRefusal, Refusal } from "../errors.ts";
import type { Provisioner, ProvisionSummary } from "../management/ports.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { realmNameFault } from "../management/record-inputs.ts";
import { merged } from "../merged.ts";
import { defaultSettings, mayHaveRecord, type ResourceSettings } from "../resources/resource.ts";
import type { SecretBox } from "../secret-box.ts";
import { describeScope } from "./consents.ts";
import {
  addIdentity,
  applyClient,
  applyConnection,
  applyWorkloadIssuer,
  type Event,
  outcomeOf,
  putRecord,
  removeIdentities,
} from "./provisioned-records.ts";
import { applyUser, type Outcome, Overtaken, type PreparedUser, type ProvisioningPasswords, prepareUser } from "./provisioned-users.ts";
import { differencesMade } from "./provisioning-preview.ts";
import { addRealm, changeRealm, holdRealmNames, isRealmName } from "./realms.ts";
import { finishRemovalOfClients } from "./removals.ts";
import { resourceRecords } from "./resources.ts";
import { type Sql, statements, type Tx } from "./sql.ts";
import { emailKey } from "./users.ts";

/** The actor for a file applied at start or by the command line. */
const PROVISIONING: AuditActor = { type: "service", id: "provisioning" };

type FileRealm = ProvisionFile["realms"][number];
type FileClient = ProvisionFile["clients"][number];
type FileResource = ProvisionFile["resources"][number];

const SQL = statements("provision", {
  owner: "select id::text as id from users where email_key = $1",
  realmNamed: "select id::text as id from realms where name = $1",
  // Locks all named users, clients and realms before any change, in the order of docs/decisions/0014.
  lockUsers: "select 1 as one from users where email_key = any($1::text[]) order by id for no key update",
  lockClients: "select 1 as one from clients where client_id = any($1::text[]) order by id for no key update",
  lockRealms: "select 1 as one from realms where name = any($1::text[]) order by id for no key update",
});

async function applyRealm({ name, ...change }: FileRealm, event: Event, tx: Tx): Promise<Outcome> {
  const { dynamicRegistrationScopes: scopes } = change;
  const audit = { ...event, event: "realm.changed", ...(scopes !== undefined && { scope: scopes.join(" ") }) } as const;
  const find = async () => (await tx.query<{ id: string }>(SQL.realmNamed, [name]))[0];
  const isNew = (await find()) === undefined; // earlier releases took names that the API refuses
  const isAlike = isNew && (await isRealmName(tx, name));
  const fault = isAlike ? "is the name of another realm but for upper and lower case" : isNew ? realmNameFault(name) : undefined;
  if (fault !== undefined) throw refused([{ path: "name", message: fault }]);
  if ((await addRealm(tx, name, change, { ...audit, reason: "created" })) !== undefined) return "created";
  const known = await find();
  return outcomeOf(known && (await changeRealm(tx, known.id, change, { ...audit, reason: "changed" })), "realm_just_removed");
}

/** @returns undefined where the file leaves the owner out, null where it names none, false for an unknown address */
async function ownerOf(email: string | null | undefined, tx: Tx): Promise<string | null | undefined | false> {
  if (email === null || email === undefined) return email;
  const [owner] = await tx.query<{ id: string }>(SQL.owner, [emailKey(email)]);
  return owner?.id ?? false;
}

/** The issues of a refusal, with the place of the entry in the file. Rethrows any other error. */
function issuesOf(error: unknown, entry: string): readonly Issue[] {
  if (!isRefusal(error) || (error.code !== "invalid_request" && error.code !== "forbidden" && error.code !== "conflict")) throw error;
  const { description = error.code, issues = [{ path: "", message: description }] } = error.detail;
  return issues.map(({ path, message }) => ({ path: `${entry}${path && `.${path}`}`, message }));
}

const refused = (issues: readonly Issue[], reason = "file_incoherent"): Refusal =>
  new Refusal("invalid_request", reason, { description: "The file cannot be applied.", issues });

/** @throws {Refusal} invalid_request, with the issues of all clients */
async function applyClients(clients: readonly FileClient[], actor: AuditActor, tx: Tx): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const issues: Issue[] = [];
  for (const [index, client] of clients.entries()) {
    const entry = `clients.${index}`;
    const owner = await ownerOf(client.ownerEmail, tx);
    if (owner === false) issues.push({ path: `${entry}.ownerEmail`, message: "belongs to no user" });
    try {
      outcomes.push(await applyClient(client, owner === false ? undefined : owner, actor, tx));
    } catch (error) {
      issues.push(...issuesOf(error, entry));
    }
  }
  if (issues.length > 0) throw refused(issues);
  const moved = await applyIdentities(clients, { outcome: "success", actor }, tx);
  return outcomes.map((outcome, index) => (outcome === "unchanged" && moved.has(clients[index]?.clientId ?? "") ? "changed" : outcome));
}

/** @returns the clients whose identities changed  @throws {Refusal} invalid_request, with the issues of all identities */
async function applyIdentities(clients: readonly FileClient[], event: Event, tx: Tx) {
  const issues: Issue[] = [];
  const { changed, missing } = await removeIdentities(clients, event, tx);
  for (const each of missing) {
    await addIdentity(each, event, tx).catch((error: unknown) => issues.push(...issuesOf(error, each.path)));
    changed.add(each.clientId);
  }
  if (issues.length > 0) throw refused(issues);
  return changed;
}

async function applyResource(entry: FileResource, realmId: string, issuer: string, event: Event, tx: Tx): Promise<Outcome> {
  const { realm: _, resource, ...settings } = entry;
  if (!mayHaveRecord(resource, issuer)) throw refused([{ path: "resource", message: "is this server itself, which has no record" }]);
  const record = { ...merged(defaultSettings(resource), settings), resource, realmId, origin: "file" } as const;
  return putRecord("resource", resourceRecords.on(tx), record, (current: ResourceSettings) => merged(current, settings), event);
}

/** Applies an entry; the issues of a refusal get its place in the file. */
const atEntry = <Applied>(entry: string, applying: Promise<Applied>): Promise<Applied> =>
  applying.catch((error: unknown) => {
    throw refused(issuesOf(error, entry));
  });

const realmUnknown = (place: string): Refusal => refused([{ path: `${place}.realm`, message: "names no realm" }], "realm_unknown");

/** @param place of the entry that names it @returns its id  @throws {Refusal} invalid_request for an unknown realm */
async function realmNamed(name: string, place: string, tx: Tx): Promise<string> {
  const [realm] = await tx.query<{ id: string }>(SQL.realmNamed, [name]);
  if (realm === undefined) throw realmUnknown(place);
  return realm.id;
}

/** Applies the entries of a section, each to its realm. @throws {Refusal} invalid_request, also for an unknown realm */
const inRealms = <Entry extends { readonly realm?: string | undefined }>(
  section: string,
  entries: readonly Entry[],
  tx: Tx,
  apply: (entry: Entry, realmId: string) => Promise<Outcome | undefined>,
): Promise<readonly Outcome[]> =>
  Array.fromAsync(entries, async (entry, index) => {
    const place = `${section}.${index}`;
    const realmId = await realmNamed(entry.realm ?? "default", place, tx);
    const outcome = await atEntry(place, apply(entry, realmId));
    if (outcome === undefined) throw realmUnknown(place);
    return outcome;
  });

/** Users with their hashes, and the file that names them. */
type Prepared = { readonly file: ProvisionFile; readonly users: readonly PreparedUser[]; readonly clientIds: readonly string[] };

/** What a file is checked against, and its secrets are sealed by. */
type Server = { readonly issuer: string; readonly box: SecretBox };

async function applyFile(prepared: Prepared, actor: AuditActor, { issuer, box }: Server, tx: Tx): Promise<ProvisionSummary> {
  const { file, users, clientIds } = prepared;
  await holdRealmNames(tx); // processes that start with the same file at once apply it one after the other, too
  await tx.query(SQL.lockUsers, [file.users.map(({ email }) => emailKey(email))]);
  await tx.query(SQL.lockClients, [clientIds]);
  await tx.query(SQL.lockRealms, [[...file.realms.map(({ name }) => name), ...file.users.flatMap(({ realm = [] }) => realm)]]);
  const event: Event = { outcome: "success", actor };
  const realms = await Array.fromAsync(file.realms, (realm, index) => atEntry(`realms.${index}`, applyRealm(realm, event, tx)));
  const accounts = await Array.fromAsync(users, async (prepared, index) => {
    const { realm } = prepared.user;
    return applyUser(prepared, realm === undefined ? undefined : await realmNamed(realm, `users.${index}`, tx), actor, tx);
  });
  const workloadIssuers = await Array.fromAsync(file.workloadIssuers, (each, index) =>
    atEntry(`workloadIssuers.${index}`, applyWorkloadIssuer(each, event, tx)),
  );
  const clients = await applyClients(file.clients, actor, tx);
  const scopes = await inRealms("scopes", file.scopes, tx, (scope, realmId) =>
    describeScope(tx, realmId, scope, { ...event, event: "scope.changed" }),
  );
  const resources = await inRealms("resources", file.resources, tx, (each, realmId) => applyResource(each, realmId, issuer, event, tx));
  const connections = await inRealms("connections", file.connections, tx, (each, realmId) =>
    applyConnection(each, realmId, box, event, tx),
  );
  return {
    ...{ realms: count(realms), users: count(accounts), clients: count(clients) },
    ...(scopes.length > 0 && { scopes: count(scopes) }),
    ...(resources.length > 0 && { resources: count(resources) }),
    ...(connections.length > 0 && { connections: count(connections) }),
    ...(workloadIssuers.length > 0 && { workloadIssuers: count(workloadIssuers) }),
  };
}

export function provisioner(sql: Sql, passwords: ProvisioningPasswords, server: Server): Provisioner {
  const prepare = async (file: ProvisionFile, signal?: AbortSignal): Promise<Prepared> => {
    const users = await Array.fromAsync(file.users, (user) => {
      signal?.throwIfAborted();
      return prepareUser(sql, passwords, user);
    });
    signal?.throwIfAborted();
    return { file, users, clientIds: file.clients.map(({ clientId }) => clientId) };
  };
  /** Prepares again where a password was changed since then, for instance by another process with the same file. */
  const withPrepared = async <Result>(
    file: ProvisionFile,
    signal: AbortSignal | undefined,
    work: (prepared: Prepared) => Promise<Result>,
  ) =>
    work(await prepare(file, signal)).catch((error: unknown): Promise<Result> => {
      if (error instanceof Overtaken) return withPrepared(file, signal, work);
      throw error;
    });
  return {
    apply: (file, actor = PROVISIONING, signal) =>
      withPrepared(file, signal, async (prepared) => {
        await finishRemovalOfClients(sql, prepared.clientIds);
        return sql.transaction(async (tx) => {
          const summary = await applyFile(prepared, actor, server, tx);
          signal?.throwIfAborted();
          return summary;
        });
      }),
    preview: (file, signal) =>
      withPrepared(file, signal, (prepared) => differencesMade(sql, file, (tx) => applyFile(prepared, PROVISIONING, server, tx))),
  };
}

const count = (outcomes: readonly Outcome[]) => {
  const of = (wanted: Outcome): number => outcomes.filter((outcome) => outcome === wanted).length;
  return { created: of("created"), changed: of("changed"), unchanged: of("unchanged") };
};
