import type { Consent, Consents } from "../accounts/ports.ts";
import { scopesByResource } from "../core/policy/consent.ts";
import type { ConsentRepository, ConsentView } from "../core/ports.ts";
import { isUuid } from "../identifier.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { coalesceReads } from "./coalesce.ts";
import { dropCodes, endGrants } from "./grant-rows.ts";
import { amongKeys, isStorable, jsonRows, preciseSeconds, readRows, rowsStatement, type Sql, statement } from "./sql.ts";

const OF = rowsStatement(
  "consents_of",
  `select n, consents.scopes, consents.resources, consents.allowed
   from jsonb_to_recordset($1::jsonb) as i(n int, user_id uuid, client_id text)
     join consents on consents.user_id = i.user_id and consents.client_id = i.client_id
   where ${amongKeys("consents.user_id", "(key ->> 'user_id')::uuid", "jsonb_array_elements($1::jsonb) as key")}`,
);

// What was allowed a client that has changed since counts no more. The row stays, so that the person still finds there what to end.
const VOID = statement(
  "consent_void",
  `update consents set scopes = '{}', resources = '{}', allowed = '{}', client_fingerprint = null, updated_at = now()
   where user_id = $1::uuid and client_id = $2 and client_fingerprint <> $3`,
);

const OF_USER = statement(
  "consents_of_user",
  `select id::text, user_id::text, client_id, client_name, scopes, resources, ${preciseSeconds("created_at")} as created_at,
     ${preciseSeconds("updated_at")} as updated_at, ${preciseSeconds("last_used_at")} as last_used_at
   from consents where user_id = $1::uuid order by consents.id desc`,
);

const added = (column: string): string =>
  `consents.${column} || array(select word from unnest(excluded.${column}) as word where word <> all(consents.${column}))`;

/** What was allowed at a place before, and what is now. */
const ADDED_BY_PLACE = `consents.allowed || (
       select jsonb_object_agg(place, (select jsonb_agg(distinct word) from jsonb_array_elements_text(coalesce(consents.allowed -> place, '[]') || wanted) as word))
       from jsonb_each(excluded.allowed) as each(place, wanted))`;

const GIVE = statement(
  "consent_give",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       id uuid, user_id uuid, client_id text, client_name text, scopes text[], resources text[], allowed jsonb, audit jsonb)),
   given as (
     insert into consents (id, user_id, client_id, client_name, scopes, resources, allowed)
     select input.id, user_id, client_id, client_name, scopes, resources, allowed from input join users on users.id = user_id
     on conflict (user_id, client_id) do update
     set scopes = ${added("scopes")}, resources = ${added("resources")}, allowed = ${ADDED_BY_PLACE}, client_name = excluded.client_name, updated_at = now()
     returning user_id)
   ${insertAudit("given join input using (user_id)")}`,
);

// A code that is being issued on this consent holds it; so the first statement waits, and the later ones see the code and what became of
// it.
const END = statement("consent_end", "delete from consents where id = $1::uuid and user_id = $2::uuid returning client_id");
const DROP_CODES = statement("consent_drop_codes", dropCodes("user_id = $1::uuid and client_id = $2"));
const END_GRANTS = statement(
  "consent_end_grants",
  `with ${endGrants("user_id = $1::uuid and client_id = $2")},
   given as (select value as audit from jsonb_array_elements($3::jsonb))
   ${insertAudit("given")}`,
);

interface ConsentColumns {
  readonly id: string;
  readonly user_id: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly created_at: number;
  readonly updated_at: number | null;
  readonly last_used_at: number | null;
}

const consentOf = (row: ConsentColumns): Consent => ({
  id: row.id,
  userId: row.user_id,
  clientId: row.client_id,
  clientName: row.client_name,
  scopes: row.scopes,
  resources: row.resources,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastUsedAt: row.last_used_at,
});

export const consents = (sql: Sql): Consents => ({
  ofUser: async (userId) => (isUuid(userId) ? (await sql.query<ConsentColumns>(OF_USER, [userId])).map(consentOf) : []),
  give: async ({ id, userId, clientId, clientName, scopes, resources }, audit) => {
    const allowed = scopesByResource(scopes, resources);
    const row = { id, user_id: userId, client_id: clientId, client_name: clientName, scopes, resources, allowed, audit: auditRow(audit) };
    await sql.query(GIVE, [jsonRows([row])]);
  },
  revoke: async (id, userId, audit) => {
    if (!isUuid(id) || !isUuid(userId)) return false;
    return sql.transaction(async (tx) => {
      const [consent] = await tx.query<{ client_id: string }>(END, [id, userId]);
      if (consent === undefined) return false;
      await tx.query(DROP_CODES, [userId, consent.client_id]);
      await tx.query(END_GRANTS, [userId, consent.client_id, jsonRows([auditRow(audit)])]);
      return true;
    });
  },
});

/** The same rows as the token core asks for them. */
export function consentRepository(sql: Sql): ConsentRepository {
  interface Key {
    readonly userId: string;
    readonly clientId: string;
  }
  const keyOf = ({ userId, clientId }: Key): string => `${userId} ${clientId}`;
  const load = coalesceReads(async (keys: readonly Key[]) => {
    const rows = keys.map(({ userId, clientId }, n) => ({ n, user_id: userId, client_id: clientId }));
    const found = await readRows<ConsentView & { n: number }>(sql, OF, [jsonRows(rows)]);
    return new Map<string, ConsentView>(found.map(({ n, ...view }) => [keyOf(keys[n] as Key), view]));
  }, keyOf);
  return {
    of: async (userId, clientId, mark) => {
      if (!isUuid(userId) || !isStorable(clientId)) return undefined;
      if (mark !== undefined) await sql.query(VOID, [userId, clientId, mark]);
      return load({ userId, clientId });
    },
  };
}
