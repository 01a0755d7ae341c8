import type { AuditEntry } from "../audit.ts";
import type { IdentitySort, ManagedIdentities, ManagedIssuers, StoredIdentity, WorkloadIssuerSort } from "../clients/ports.ts";
import { identityFault, MAX_IDENTITIES, matchingSubjects, type WorkloadIdentity } from "../clients/workload.ts";
import type { KnownIssuer, WorkloadPorts } from "../core/workload/rules.ts";
import { Refusal } from "../errors.ts";
import { EMPTY_PAGE } from "../paging.ts";
import { auditEach } from "./audit-log.ts";
import { coalesceReads } from "./coalesce.ts";
import { type Fragment, type ListDescription, listPage } from "./list-query.ts";
import { managedRecords } from "./managed-records.ts";
import { hasRow, isStorable, jsonRows, type Sql, statement, statements, type Tx } from "./sql.ts";
import { WORKLOAD_IDENTITIES, WORKLOAD_ISSUERS } from "./tables/clients.ts";
import { without } from "./tables/table.ts";

const FIND = statement(
  "workload_find",
  `select batch.key, jsonb_agg(found) as issuers
   from jsonb_to_recordset($1::jsonb) as batch(key text, issuers text[], subjects text[])
   cross join lateral (
     select ${WORKLOAD_ISSUERS.select()}, coalesce((
       select json_agg(json_build_object('subject', identity.subject, 'claims', identity.claims, 'clientId', clients.client_id))
       from workload_identities as identity join clients on clients.id = identity.client_id
       where identity.issuer_id = workload_issuers.id and identity.subject = any(batch.subjects)), '[]') as identities
     from workload_issuers where workload_issuers.issuer = any(batch.issuers)) as found
   group by batch.key`,
);

const CONFIGURED = statement("workloads_configured", "select 1 as one from workload_issuers limit 1");

type Token = { readonly issuers: readonly string[]; readonly subject: string };

export function workloadDirectory(sql: Sql): Pick<WorkloadPorts, "find" | "configured"> {
  const keyOf = ({ issuers, subject }: Token): string => JSON.stringify([issuers, subject]);
  const load = coalesceReads(async (tokens: readonly Token[]) => {
    const batch = tokens.map((token) => ({ key: keyOf(token), issuers: token.issuers, subjects: matchingSubjects(token.subject) }));
    const rows = await sql.query<{ key: string; issuers: readonly KnownIssuer[] }>(FIND, [jsonRows(batch)]);
    return new Map(rows.map(({ key, issuers }) => [key, issuers]));
  }, keyOf);
  const trusted = coalesceReads(
    async () => new Map((await sql.query(CONFIGURED, [])).map(() => ["any", true])),
    () => "any",
  );
  return {
    find: async (issuers, subject) => ([subject, ...issuers].every(isStorable) ? ((await load({ issuers, subject })) ?? []) : []),
    configured: async () => (await trusted("any")) === true,
  };
}

const ADDED = without(WORKLOAD_ISSUERS.members, ["id", "createdAt", "updatedAt"]);
/** Stores platforms; undefined for one that is known. */
export const workloadIssuers = managedRecords("workload_issuer", WORKLOAD_ISSUERS, {
  key: ["issuer"],
  added: ADDED,
  changed: without(ADDED, ["issuer", "kind"]),
  named: ({ issuer }) => ({ workloadIssuer: issuer }),
});

const identityColumns = (identity: string): string =>
  `${WORKLOAD_IDENTITIES.select(without(WORKLOAD_IDENTITIES.members, ["issuerId", "clientId"]), identity)},
   workload_issuers.issuer, clients.client_id as "clientId"`;
const IDENTITY = identityColumns("identity");
const JOINED = "join workload_issuers on workload_issuers.id = identity.issuer_id join clients on clients.id = identity.client_id";

const IDENTITY_LIST: ListDescription<IdentitySort> = {
  table: WORKLOAD_IDENTITIES,
  select: identityColumns("workload_identities"),
  joins: { issuerId: "workload_issuers", clientId: "clients" },
  search: ["subject"],
  sorts: {
    subject: { by: 'left(workload_identities.subject, 100) collate "C"', type: "text", order: "asc" },
    created: { by: null, order: "desc" },
  },
};

/** Compares with ids, not with joined rows, so that an index has the order. */
const filteredBy = (column: "issuer_id" | "client_id", table: string, name: string, value: string | undefined): readonly Fragment[] =>
  value === undefined
    ? []
    : [[`workload_identities.${column} = (select named.id from ${table} as named where named.${name} = ?)`, [value]]];

const SQL = statements("workload", {
  identitiesOfClient: `select ${IDENTITY} from workload_identities as identity ${JOINED}
   where clients.client_id = $1 order by workload_issuers.issuer collate "C", identity.subject collate "C", identity.id`,
  /** Locked, so that of many identities at once no more than a client may have are added. */
  clientLock: "select id::text as id, token_endpoint_auth_method as method from clients where clients.client_id = $1 for no key update",
  /** A statement of its own, so that it sees what was added while the lock was waited for. */
  identitiesCount: "select count(*)::int as n from workload_identities where client_id = $1::uuid",
  identityAssign: `with added as (
     insert into workload_identities (issuer_id, client_id, subject, claims)
     select workload_issuers.id, $1::uuid, $3, $4::jsonb from workload_issuers where workload_issuers.issuer = $2
     on conflict (issuer_id, subject, hashtextextended(claims::text, 0)) do nothing returning *),
   logged as (${auditEach("added", "$5")})
   select ${IDENTITY} from added as identity ${JOINED}`,
  identityUnassign: `with removed as (
     delete from workload_identities as identity using workload_issuers, clients
     where identity.id = $1::uuid and workload_issuers.id = identity.issuer_id and clients.id = identity.client_id
     returning identity.id, identity.subject, workload_issuers.issuer, clients.client_id),
   logged as (${auditEach("removed", "$2", { clientId: "client_id", workloadIssuer: "issuer", workloadSubject: "subject" })})
   select id::text as id from removed`,
});

const invalid = (path: string, message: string) =>
  new Refusal("invalid_request", "workload_identity_invalid", {
    description: "The identity is not valid.",
    issues: [{ path, message }],
  });

/**
 * Lets an identity stand for a client, within a transaction.
 * @throws {Refusal} invalid_request, not_found, conflict for an identity that stands for another client
 */
export async function assignIdentity(tx: Tx, clientId: string, identity: WorkloadIdentity, audit: AuditEntry): Promise<StoredIdentity> {
  const { issuer, subject, claims } = identity;
  const [client] = await tx.query<{ id: string; method: string }>(SQL.clientLock, [clientId]);
  if (client === undefined) throw new Refusal("not_found", "client_unknown", { description: "There is no such client." });
  if (client.method !== "workload_jwt") throw invalid("clientId", "is a client of another tokenEndpointAuthMethod than workload_jwt");
  const [counted] = await tx.query<{ n: number }>(SQL.identitiesCount, [client.id]);
  if ((counted?.n ?? 0) >= MAX_IDENTITIES) throw invalid("clientId", `has ${MAX_IDENTITIES} identities, the most that a client may have`);
  const trusted = await workloadIssuers.on(tx).one({ issuer });
  if (trusted === undefined) throw invalid("issuer", "is not a trusted issuer of workloads; add it first");
  const fault = identityFault(identity, trusted);
  if (fault !== undefined) throw invalid("subject", fault);
  const logged = jsonRows([{ ...audit, clientId, workloadIssuer: issuer, workloadSubject: subject }]);
  const [added] = await tx.query<StoredIdentity>(SQL.identityAssign, [client.id, issuer, subject, JSON.stringify(claims), logged]);
  if (added === undefined)
    throw new Refusal("conflict", "workload_identity_taken", { description: "This identity stands for a client already." });
  return added;
}

export const identitiesOf = (tx: Tx, clientId: string) => tx.query<StoredIdentity>(SQL.identitiesOfClient, [clientId]);

/** @returns whether it existed */
export const unassignIdentity = (tx: Tx, id: string, audit: AuditEntry): Promise<boolean> =>
  hasRow(tx, SQL.identityUnassign, [id, jsonRows([audit])]);

export const managedIssuers = (sql: Sql): ManagedIssuers =>
  workloadIssuers.managed<WorkloadIssuerSort>(sql, {
    search: ["issuer"],
    sorts: { issuer: { by: 'workload_issuers.issuer collate "C"', type: "text", order: "asc" }, created: { by: null, order: "desc" } },
  });

export const managedIdentities = (sql: Sql): ManagedIdentities => ({
  list: async ({ issuer, clientId, search }, part) => {
    if (![issuer, clientId].every((text) => text === undefined || isStorable(text))) return EMPTY_PAGE;
    const conditions = [
      ...filteredBy("issuer_id", "workload_issuers", "issuer", issuer),
      ...filteredBy("client_id", "clients", "client_id", clientId),
    ];
    return listPage<StoredIdentity, IdentitySort>(sql, IDENTITY_LIST, { conditions, search }, part);
  },
  assign: (clientId, identity, audit) => sql.transaction((tx) => assignIdentity(tx, clientId, identity, audit)),
  unassign: (id, audit) => unassignIdentity(sql, id, audit),
});
