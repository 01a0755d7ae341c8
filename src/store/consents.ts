import type { ScopeDescription, ScopeDescriptions } from "../accounts/account.ts";
import type { Consent, Consents } from "../accounts/ports.ts";
import { type AuditEntry, realmUri } from "../audit.ts";
import { scopesByResource } from "../core/policy/consent.ts";
import type { ConsentRepository, ConsentView } from "../core/ports.ts";
import type { ManagedScopes } from "../management/ports.ts";
import type { ClientConsent, ClientConsents, ConsentCounts } from "../management/report-ports.ts";
import { allInParts, TOTAL_LIMIT } from "../paging.ts";
import { isUuid } from "../random.ts";
import { auditEach, entriesIn, insertAudit } from "./audit-log.ts";
import { coalesceReads } from "./coalesce.ts";
import { dropCodes, endGrants } from "./grant-rows.ts";
import { type ListDescription, listPage, pageByAge } from "./list-query.ts";
import { removing } from "./managed-records.ts";
import type { Outcome } from "./provisioned-users.ts";
import {
  amongKeys,
  firstRow,
  hasRow,
  isStorable,
  jsonRows,
  readRows,
  rowsOf,
  rowsStatement,
  type Sql,
  statement,
  statements,
  type Tx,
} from "./sql.ts";
import { CONSENTS, SCOPE_DESCRIPTIONS } from "./tables/accounts.ts";
import { without } from "./tables/table.ts";

const OF = rowsStatement(
  "consents_of",
  `select n, consents.scopes, consents.allowed
   from jsonb_to_recordset($1::jsonb) as i(n int, user_id uuid, client_id text)
     join consents on consents.user_id = i.user_id and consents.client_id = i.client_id
   where ${amongKeys("consents.user_id", "(key ->> 'user_id')::uuid", "jsonb_array_elements($1::jsonb) as key")}`,
);

/** What users and operators see of a consent. */
const CONSENT = without(CONSENTS.members, ["clientFingerprint", "allowed"]);
const AT_ONCE = 1_000;
const OF_USER = statement(
  "consents_of_user",
  `select ${CONSENTS.select(CONSENT)} from consents where user_id = $1::uuid and ($2::uuid is null or consents.id < $2::uuid)
   order by consents.id desc limit $3::int`,
);

const added = (column: string): string =>
  `consents.${column} || array(select word from unnest(excluded.${column}) as word where word <> all(consents.${column}))`;

/** The scopes allowed at each resource before and now. */
const ADDED_BY_RESOURCE = `consents.allowed || (
       select jsonb_object_agg(resource, (select jsonb_agg(distinct scope) from jsonb_array_elements_text(coalesce(consents.allowed -> resource, '[]') || added) as scope))
       from jsonb_each(excluded.allowed) as each(resource, added))`;

/** Characters that what one consent allows takes as JSON from which on it is full: a page lists all of it, and each request of the client reads it. */
const FULL = 65_536;

const NEW = ["id", "userId", "clientId", "clientName", "scopes", "resources", "allowed"] as const;
const newRow = CONSENTS.writer(NEW);

const CONSENT_SQL = statements("consent", {
  // Voids consents to a client whose document has changed since. The row stays, so that the user still finds it and can revoke it.
  void: `update consents set scopes = '{}', resources = '{}', allowed = '{}', client_fingerprint = null, updated_at = now()
   where user_id = $1::uuid and client_id = $2 and client_fingerprint <> $3`,
  // Locks client and session: what deletes or ends one waits for the consent, and then deletes it where it has to. The client of a metadata
  // document has no row. A consent that is full is left as it is, unless all was allowed before.
  give: `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(${CONSENTS.recordset(NEW)}, session_id uuid, audit jsonb)),
   registered as materialized (
     select client_id from clients where client_id = any(array(select client_id from input)) for key share),
   present as materialized (
     select input.* from input
       join sessions on sessions.id = input.session_id and sessions.user_id = input.user_id and ended_at is null and expires_at > now()
       join users on users.id = input.user_id and users.enabled and users.epoch = sessions.user_epoch
     where ${amongKeys("sessions.id", "session_id", "input")} and (exists (select 1 from registered) or starts_with(input.client_id, 'https://'))
     for share of sessions),
   written as (
     insert into consents (${CONSENTS.names(NEW)}) select ${CONSENTS.values(NEW, "present")} from present
     on conflict (user_id, client_id) do update
     set scopes = ${added("scopes")}, resources = ${added("resources")}, allowed = ${ADDED_BY_RESOURCE}, client_name = excluded.client_name, updated_at = now()
     where consents.allowed @> excluded.allowed or length(consents.allowed::text) < ${FULL}
     returning user_id),
   logged as (${insertAudit("written join input using (user_id)")})
   select exists (select from present) and not exists (select from written) as "isFull"`,
  // Issuing a code locks its consent: the first statement waits, and the later ones see the code and its grant.
  end: "delete from consents where id = $1::uuid and user_id = $2::uuid returning client_id",
  dropCodes: dropCodes("user_id = $1::uuid and client_id = $2"),
  endGrants: `with ${endGrants("user_id = $1::uuid and client_id = $2")} ${insertAudit(entriesIn("$3"))}`,
});

export const consents = (sql: Sql): Consents => ({
  ofUser: (userId) => allInParts(AT_ONCE, (after) => rowsOf<Consent>(sql, OF_USER, [userId, after, AT_ONCE])),
  list: (userId, part) => pageByAge(part, (after, most) => rowsOf<Consent>(sql, OF_USER, [userId, after, most])),
  give: async (consent, audit) => {
    const row = newRow({ ...consent, allowed: scopesByResource(consent.scopes, consent.resources) });
    const [given] = await sql.query<{ isFull: boolean }>(CONSENT_SQL.give, [jsonRows([{ ...row, session_id: consent.sessionId, audit }])]);
    return given?.isFull !== true;
  },
  revoke: (id, userId, audit) =>
    sql.transaction(async (tx) => {
      const consent = await firstRow<{ client_id: string }>(tx, CONSENT_SQL.end, [id, userId]);
      if (consent === undefined) return false;
      await tx.query(CONSENT_SQL.dropCodes, [userId, consent.client_id]);
      await tx.query(CONSENT_SQL.endGrants, [userId, consent.client_id, jsonRows([audit])]);
      return true;
    }),
});

export function consentRepository(sql: Sql): ConsentRepository {
  type Key = readonly [userId: string, clientId: string];
  const keyOf = (key: Key): string => key.join(" ");
  const load = coalesceReads(async (keys: readonly Key[]) => {
    const rows = keys.map(([userId, clientId], n) => ({ n, user_id: userId, client_id: clientId }));
    const found = await readRows<ConsentView & { n: number }>(sql, OF, [jsonRows(rows)]);
    return new Map<string, ConsentView>(found.map(({ n, ...view }) => [keyOf(keys[n] as Key), view]));
  }, keyOf);
  return {
    of: async (userId, clientId, fingerprint) => {
      if (!isUuid(userId) || !isStorable(clientId)) return undefined;
      if (fingerprint !== undefined) await sql.query(CONSENT_SQL.void, [userId, clientId, fingerprint]);
      return load([userId, clientId]);
    },
  };
}

const DESCRIPTION_LIST: ListDescription<"name"> = {
  table: SCOPE_DESCRIPTIONS,
  select: SCOPE_DESCRIPTIONS.select(["id", "name", "title", "detail"]),
  search: ["name"],
  sorts: { name: { by: 'scope_descriptions.name collate "C"', type: "text", order: "asc" } },
};

const SCOPE_SQL = statements("scope", {
  descriptionsOf: `select distinct on (described.name) described.name, title, detail
   from scope_descriptions as described join realms on realms.id = described.realm_id
   where described.name = any ($2::text[]) and (realms.id = $1::uuid or realms.name = 'default')
   order by described.name, realms.id = $1::uuid desc`,
  // An unchanged description is neither written nor recorded.
  describe: `with realm as (select id from realms where id = $1::uuid),
     before as (select from scope_descriptions where realm_id = $1::uuid and name = $2),
     written as (
       insert into scope_descriptions (realm_id, name, title, detail) select id, $2, $3::jsonb, $4::jsonb from realm
       on conflict (realm_id, name) do update set title = excluded.title, detail = excluded.detail, updated_at = now()
       where (scope_descriptions.title, scope_descriptions.detail) is distinct from (excluded.title, excluded.detail)
       returning name),
     logged as (${auditEach("written", "$5")})
   select case when not exists (select from written) then 'unchanged' when exists (select from before) then 'changed' else 'created' end as outcome
   from realm`,
});

const REMOVE = removing("scope_description_remove", "scope_descriptions", "realm_id = $1::uuid and name = $2", "$3");

const describing = (realmId: string, scope: string, audit: AuditEntry): AuditEntry => ({ ...audit, scope, resources: [realmUri(realmId)] });

/** Stores a description, with its record. @returns undefined for an unknown realm */
export async function describeScope(
  tx: Tx,
  realmId: string,
  { name, title, detail }: ScopeDescription,
  audit: AuditEntry,
): Promise<Outcome | undefined> {
  const texts = [JSON.stringify(title), JSON.stringify(detail)];
  const parameters = [realmId, name, ...texts, jsonRows([describing(realmId, name, audit)])];
  return (await firstRow<{ outcome: Outcome }>(tx, SCOPE_SQL.describe, parameters))?.outcome;
}

export const scopeDescriptions = (sql: Sql): ScopeDescriptions => ({
  of: async (realmId, names) => {
    const storable = names.filter(isStorable);
    const rows =
      isUuid(realmId) && storable.length > 0 ? await sql.query<ScopeDescription>(SCOPE_SQL.descriptionsOf, [realmId, storable]) : [];
    return new Map(rows.map((row) => [row.name, row]));
  },
});

export const managedScopes = (sql: Sql): ManagedScopes => ({
  ...scopeDescriptions(sql),
  list: ({ search, ...where }, part) =>
    listPage<ScopeDescription & { readonly id: string }, "name">(sql, DESCRIPTION_LIST, { where, search }, part),
  set: async (realmId, scope, audit) => (await describeScope(sql, realmId, scope, audit)) !== undefined,
  remove: (realmId, name, audit) => hasRow(sql, REMOVE, [realmId, name, jsonRows([describing(realmId, name, audit)])]),
});

const LIST: ListDescription<"created"> = {
  table: CONSENTS,
  select: `${CONSENTS.select(CONSENT)}, users.email`,
  joins: { userId: "users" },
  search: ["users.email"],
  sorts: { created: { by: null, order: "desc" } },
};

const COUNTS = statement(
  "client_consent_counts",
  `select count(*)::int as total, count(*) filter (where last_used_at > now() - interval '30 days')::int as "usedLately"
   from (select last_used_at from consents where client_id = $1 limit ${TOTAL_LIMIT + 1}) as counted`,
);

export const clientConsents = (sql: Tx): ClientConsents => ({
  list: (clientId, { search }, part) => listPage<ClientConsent, "created">(sql, LIST, { where: { clientId }, search }, part),
  counts: async (clientId) => (await firstRow<ConsentCounts>(sql, COUNTS, [clientId])) ?? { total: 0, usedLately: 0 },
});
