import type { DelegationRepository } from "../accounts/delegations.ts";
import { isUuid } from "../random.ts";
import { insertAudit } from "./audit-log.ts";
import { CHAIN, madeBy, userOf } from "./delegation-rows.ts";
import { endGrants } from "./grant-rows.ts";
import { isStorable, jsonRows, type Sql, type Statement, statement } from "./sql.ts";

/** One audit record for each delegation or grant that was cut: its user, its grant and the client that held it. */
const logged = (jti: string, grantId: string): string =>
  `audited as (
     select value || jsonb_build_object('jti', ${jti}, 'userId', ended.user_id::text, 'grantId', ${grantId}::text, 'clientId', ended.client_id) as audit
     from ended, jsonb_array_elements($1::jsonb)),
   logged as (${insertAudit("audited")})`;

// Delegations below a cut one, even those being stored, need no statement: their path makes them inactive.
const cutting = (name: string, where: string, exists: string) =>
  statement(
    name,
    `with ended as (
       update delegations set cut_at = now(), ${madeBy("cut", "$1")}
       where cut_at is null and ($2::uuid is null or user_id = $2::uuid) and ${where}
       returning jti, user_id, grant_id, actor as client_id),
     ${logged("ended.jti", "ended.grant_id")}
     select count(*)::int as ended, ${exists} as exists from ended`,
  );

const CUT = cutting(
  "delegation_cut",
  "id = $3::uuid",
  "exists (select 1 from delegations where id = $3::uuid and ($2::uuid is null or user_id = $2::uuid))",
);

/** Delegations cut by one statement, well within its deadline. */
const BATCH = 1_000;

const CUT_AGENT = cutting(
  "delegation_cut_agent",
  `id in (
     select id from delegations
     where cut_at is null and actor = $3 and ($2::uuid is null or user_id = $2::uuid) and ($4::uuid is null or user_id = $4::uuid) and expires_at > now()
     order by path limit ${BATCH} for no key update)`,
  "exists (select 1 from clients where client_id = $3 and is_agent) or exists (select 1 from delegations where actor = $3)",
);

const CUT_BRANCH = cutting(
  "delegation_cut_branch",
  `id in (
     select delegations.id from delegations join grants on grants.id = delegations.grant_id
     where cut_at is null and actor = ($4::text[])[cardinality($4::text[])] and grants.client_id = $3 and ${CHAIN} = $4::text[]
       and ($2::uuid is null or delegations.user_id = $2::uuid) and ($5::uuid is null or delegations.user_id = $5::uuid) and expires_at > now()
     order by path limit ${BATCH} for no key update of delegations)`,
  "exists (select 1 from delegations where actor = ($4::text[])[cardinality($4::text[])])",
);

const CUT_GRANT = statement(
  "delegation_cut_grant",
  `with ${endGrants("id = $3::uuid and ($2::uuid is null or user_id = $2::uuid)")},
   ${logged("null::text", "ended.id")}
   select count(*)::int as ended, exists (select 1 from grants where id = $3::uuid and ($2::uuid is null or user_id = $2::uuid)) as exists from ended`,
);

type Verdict = { readonly ended: number; readonly exists: boolean };

/** Cuts in batches, each with its records: if one fails, the earlier ones stay cut, and a retry continues there. */
async function cutAll(sql: Sql, cut: Statement, parameters: Parameters<Sql["query"]>[1]): Promise<Verdict | undefined> {
  for (let total = 0; ; ) {
    const [verdict] = await sql.query<Verdict>(cut, parameters);
    if (verdict === undefined) return undefined;
    total += verdict.ended;
    if (verdict.ended < BATCH) return { ended: total, exists: verdict.exists };
  }
}

export const delegationCuts =
  (sql: Sql): DelegationRepository["cut"] =>
  async (whose, what, audit) => {
    const first = [jsonRows([audit]), userOf(whose)];
    const verdict = await (async () => {
      if (what.kind === "agent") {
        if (!isStorable(what.clientId) || (what.userId !== undefined && !isUuid(what.userId))) return undefined;
        return cutAll(sql, CUT_AGENT, [...first, what.clientId, what.userId ?? null]);
      }
      if (what.kind === "branch") {
        const { application, chain, userId } = what;
        if (![application, ...chain].every(isStorable) || (userId !== undefined && !isUuid(userId))) return undefined;
        return cutAll(sql, CUT_BRANCH, [...first, application, chain, userId ?? null]);
      }
      if (!isUuid(what.id)) return undefined;
      const [row] = await sql.query<Verdict>(what.kind === "grant" ? CUT_GRANT : CUT, [...first, what.id]);
      return row;
    })();
    return verdict?.exists ? verdict.ended : undefined;
  };
