import { insertAudit } from "./audit-rows.ts";
import { type Sql, statement } from "./sql.ts";

/** Seconds without a token after which an open registration goes: never had one, or had its last one so long ago. */
export interface SweepAges {
  readonly unused: number;
  readonly idle: number;
}

/** Registrations in one statement at most: what is swept holds up nobody. */
const BATCH = 200;

/** Nothing lives that was given to it, and nothing has for long enough. */
const DEAD = `origin = 'dynamic' and created_at < now() - make_interval(secs => $1::int)
  and (last_used_at is null or last_used_at < now() - make_interval(secs => $2::int))
  and not exists (
    select 1 from grants join refresh_families on refresh_families.grant_id = grants.id
    where grants.client_id = clients.client_id and grants.revoked_at is null
      and refresh_families.revoked_at is null and refresh_families.expires_at > now())
  and not exists (
    select 1 from grants where grants.client_id = clients.client_id and grants.revoked_at is null
      and grants.created_at >= now() - make_interval(secs => least($1::int, $2::int)))
  and not exists (
    select 1 from authorization_codes
    where authorization_codes.client_id = clients.client_id and grant_id is null and authorization_codes.expires_at > now())`;

// Rows that somebody holds are left for the next time: a grant may just be coming into being for them.
const HOLD = statement(
  "registrations_hold",
  `select id::text from clients where ${DEAD} order by id limit ${BATCH} for update skip locked`,
);
// Judged once more, for what came into being before the rows were held is seen only now.
const SWEEP = statement(
  "registrations_sweep",
  `with swept as (delete from clients where id = any(array(select jsonb_array_elements_text($3::jsonb)::uuid)) and ${DEAD} returning client_id),
   forgotten as (delete from consents using swept where consents.client_id = swept.client_id),
   logged as (${insertAudit(
     `(select jsonb_build_object('event', 'client.deleted', 'outcome', 'success', 'reason', 'registration_dead', 'actor_type', 'service',
         'actor_id', 'sweeper', 'client_id', client_id) as audit from swept) as told`,
   )})
   select client_id from swept`,
);

/**
 * Deletes open registrations that no token hangs on any more, in small steps; never one with a live grant. Several processes may sweep at once.
 * @returns how many went
 */
export async function sweepRegistrations(sql: Sql, { unused, idle }: SweepAges): Promise<number> {
  let swept = 0;
  for (;;) {
    const step = await sql.transaction(async (tx) => {
      const held = (await tx.query<{ id: string }>(HOLD, [unused, idle])).map(({ id }) => id);
      const gone = held.length === 0 ? [] : await tx.query(SWEEP, [unused, idle, JSON.stringify(held)]);
      return { held: held.length, gone: gone.length };
    });
    swept += step.gone;
    if (step.held < BATCH || step.gone === 0) return swept;
  }
}
