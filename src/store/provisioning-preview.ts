import { isDeepStrictEqual } from "node:util";
import type { ProvisionDifference } from "../management/ports.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { resourceKey } from "../resources/resource.ts";
import { type Sql, statement, type Tx, undoable } from "./sql.ts";
import { emailKey } from "./users.ts";

/** All that a file can name. Names of scopes and resources may be found in other realms too: those do not change. */
const NAMED = statement(
  "provision_named",
  `select 'realms' as section, name as entry, to_jsonb(realms) as value from realms where name = any($1::text[])
   union all select 'users', email, to_jsonb(users) - 'realm_id' || jsonb_build_object('realm', realms.name, 'password',
     (select password_hash from credentials where credentials.user_id = users.id and credentials.type = 'password'))
     from users join realms on realms.id = realm_id where email_key = any($2::text[])
   union all select 'workloadIssuers', issuer, to_jsonb(workload_issuers) from workload_issuers where issuer = any($3::text[])
   union all select 'clients', client_id, to_jsonb(clients) - 'secret_hash' || jsonb_build_object('client_secret', secret_hash)
     from clients where client_id = any($4::text[])
   union all select 'workloadIdentities', concat_ws(' ', clients.client_id, issuer, subject, nullif(claims, '{}')), '{}'
     from workload_identities join clients on clients.id = workload_identities.client_id
     join workload_issuers on workload_issuers.id = issuer_id where clients.client_id = any($4::text[])
   union all select 'scopes', concat_ws(' ', nullif(realms.name, 'default'), scope.name), to_jsonb(scope)
     from scope_descriptions as scope join realms on realms.id = scope.realm_id where scope.name = any($5::text[])
   union all select 'resources', concat_ws(' ', nullif(realms.name, 'default'), resource), to_jsonb(resources)
     from resources join realms on realms.id = resources.realm_id where resource = any($6::text[])
   union all select 'connections', name, to_jsonb(connections) - 'secret' || jsonb_build_object('client_secret', secret)
     from connections where name = any($7::text[])`,
);

interface Entry {
  readonly section: string;
  readonly entry: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const namedBy = (tx: Tx, { realms, users, workloadIssuers, clients, scopes, resources, connections }: ProvisionFile): Promise<Entry[]> =>
  tx.query<Entry>(NAMED, [
    realms.map(({ name }) => name),
    users.map(({ email }) => emailKey(email)),
    workloadIssuers.map(({ issuer }) => issuer),
    clients.map(({ clientId }) => clientId),
    scopes.map(({ name }) => name),
    resources.map(({ resource }) => resourceKey(resource)),
    connections.map(({ name, preset }) => name ?? preset ?? ""),
  ]);

const SECRET: readonly string[] = ["password", "client_secret"];
/** Of the store, not of the file. */
const INTERNAL: readonly string[] = ["id", "created_at", "updated_at", "epoch"];

const camel = (column: string): string => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

function changedMembers(before: Entry["value"], after: Entry["value"]): ProvisionDifference["members"] {
  return Object.keys(after)
    .filter((column) => !INTERNAL.includes(column) && !isDeepStrictEqual(before[column], after[column]))
    .map((column) => ({
      member: camel(column),
      ...(!SECRET.includes(column) && { before: before[column], after: after[column] }),
    }));
}

/** In the order in which a file is applied. */
const SECTIONS = ["realms", "users", "workloadIssuers", "clients", "workloadIdentities", "scopes", "resources", "connections"];

/** The entries that differ, in the order of the sections, and within each by name. Pure. */
function differences(before: readonly Entry[], after: readonly Entry[]): readonly ProvisionDifference[] {
  const keyOf = ({ section, entry }: Entry) => JSON.stringify([section, entry]);
  const [earlier, later] = [before, after].map((entries) => new Map(entries.map((each) => [keyOf(each), each])));
  const all = new Map([...(earlier ?? []), ...(later ?? [])]);
  return [...all]
    .toSorted(([, a], [, b]) => SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section) || (a.entry < b.entry ? -1 : 1))
    .flatMap(([key, { section, entry }]): readonly ProvisionDifference[] => {
      const [old, next] = [earlier?.get(key), later?.get(key)];
      if (old === undefined) return [{ change: "created", section, entry, members: [] }];
      if (next === undefined) return [{ change: "removed", section, entry, members: [] }];
      const members = changedMembers(old.value, next.value);
      return members.length === 0 ? [] : [{ change: "changed", section, entry, members }];
    });
}

/** What `apply` changes of all that the file names. It is undone. @throws what `apply` throws */
export const differencesMade = (
  sql: Sql,
  file: ProvisionFile,
  apply: (tx: Tx) => Promise<unknown>,
): Promise<readonly ProvisionDifference[]> =>
  undoable(sql, async (tx, undo) => {
    const before = await namedBy(tx, file);
    await apply(tx);
    return undo(differences(before, await namedBy(tx, file)));
  });
