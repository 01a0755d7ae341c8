import { matchingSubjects } from "../clients/workload.ts";
import type { KnownIssuer, WorkloadPorts } from "../core/workload/ports.ts";
import { coalesceReads } from "./coalesce.ts";
import { isStorable, jsonRows, type Sql, statement } from "./sql.ts";
import { WORKLOAD_ISSUERS } from "./tables/workloads.ts";

const FIND = statement(
  "workload_find",
  `select batch.key, row_to_json(found)::text as issuer
   from jsonb_to_recordset($1::jsonb) as batch(key text, issuers text[], subjects text[])
   cross join lateral (
     select ${WORKLOAD_ISSUERS.select()}, coalesce((
       select json_agg(json_build_object('subject', identity.subject, 'claims', identity.claims, 'clientId', clients.client_id))
       from workload_identities as identity join clients on clients.id = identity.client_id
       where identity.issuer_id = workload_issuers.id and identity.subject = any(batch.subjects)), '[]') as identities
     from workload_issuers where workload_issuers.issuer = any(batch.issuers)) as found`,
);

const CONFIGURED = statement("workloads_configured", "select 1 as one from workload_issuers limit 1");

type Token = { readonly issuers: readonly string[]; readonly subject: string };

/** Trusted platforms and the identities on them. */
export function workloadDirectory(sql: Sql): Pick<WorkloadPorts, "find" | "configured"> {
  const keyOf = ({ issuers, subject }: Token): string => JSON.stringify([issuers, subject]);
  const load = coalesceReads(async (tokens: readonly Token[]) => {
    const batch = tokens.map((token) => ({ key: keyOf(token), issuers: token.issuers, subjects: matchingSubjects(token.subject) }));
    const found = new Map<string, KnownIssuer[]>();
    for (const { key, issuer } of await sql.query<{ key: string; issuer: string }>(FIND, [jsonRows(batch)])) {
      const known = found.get(key);
      if (known === undefined) found.set(key, [JSON.parse(issuer)]);
      else known.push(JSON.parse(issuer));
    }
    return found;
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
