import type { Figure, Figures, Span } from "../management/ports.ts";
import { rowsOf, seconds, statement, type Tx } from "./sql.ts";

/** Seconds between a refresh and a second use of the same token that still look like two requests of one client at once. */
const RACE = 10;

const COUNTED = [
  "token.issued",
  "token.refused",
  "code.replayed",
  "refresh_token.replayed",
  "workload.refused",
  "identity_assertion.refused",
];

/** A reason of `token.issued`: a used refresh token was accepted once more within REFRESH_TOKEN_REUSE_GRACE. */
const REPEATED = "refresh_token_repeated";

const JUST_REFRESHED = `exists (
  select 1 from audit_records as earlier
  where earlier.grant_id = r.grant_id and earlier.event = 'token.issued' and earlier.grant_type = 'refresh_token'
    and earlier.at between r.at - interval '${RACE} seconds' and r.at)`;

// Summed before it is spread over spans and clients: a batch has hundreds of records, of a few kinds.
// Each record counts in its realm, and for its client unless that registered itself: of those there may be any number.
// Developers see the figures of their clients, and so the error on the wire in place of the private reason.
// A summary of refused exchanges stands for its repeats alone, since the first of them has a record of its own.
const COUNT = statement(
  "figures_count",
  `with counted as (
     select date_trunc('hour', r.at, 'UTC') as hour, r.client_id, r.error,
       case when r.event = 'token.issued' then coalesce(r.grant_type, '') else coalesce(r.reason, '') end as reason,
       case when r.repeats is null then 1 when r.event = 'token.refused' then r.repeats else r.repeats + 1 end as records,
       case
         when r.event = 'token.issued' and r.reason = '${REPEATED}' then array['issued', 'raced']
         when r.event = 'token.issued' then array['issued']
         when r.event = 'refresh_token.replayed' and ${JUST_REFRESHED} then array['raced']
         when r.event in ('code.replayed', 'refresh_token.replayed') then array['replayed']
         else array['refused']
       end as kinds
     from audit_records as r where r.id = any($1::uuid[]) and r.id between $2::uuid and $3::uuid and r.event = any(array['${COUNTED.join("', '")}'])),
   summed as (select hour, client_id, error, reason, kinds, sum(records) as n from counted group by hour, client_id, error, reason, kinds),
   placed as (
     select summed.*, coalesce(clients.realm_id, (select realms.id from realms where realms.name = 'default')) as realm_id,
       case when clients.origin is distinct from 'dynamic' then clients.client_id end as of_client
     from summed left join clients on clients.client_id = summed.client_id)
   insert into figures (client_id, span, starts_at, realm_id, kind, reason, n)
   select whose, span, date_trunc(span, hour, 'UTC'), realm_id, kind,
     case when kind = 'raced' then '' when kind = 'issued' or whose = '' then reason else coalesce(error, '') end, sum(n)
   from placed, unnest(kinds) as kind, unnest(array['hour', 'day']) as span, unnest(array['', of_client]) as whose
   where whose is not null group by 1, 2, 3, 4, 5, 6
   on conflict (client_id, span, starts_at, realm_id, kind, reason) do update set n = figures.n + excluded.n`,
);

/** Counts sealed records, in the transaction that seals them: each once. @param records in the order of their ids */
export async function countRecords(tx: Tx, records: readonly { readonly id: string; readonly event: unknown }[]) {
  const ids = records.filter(({ event }) => COUNTED.some((counted) => counted === event)).map(({ id }) => id);
  if (ids.length > 0) await tx.query(COUNT, [ids, ids[0] ?? null, ids.at(-1) ?? null]);
}

const reading = (name: string, whose: string) =>
  statement(
    name,
    `select ${seconds("starts_at")} as at, kind, reason, sum(n)::float8 as count from figures
     where span = $1 and starts_at > now() - $2::interval and ${whose} group by 1, 2, 3 order by 1, 2, 3`,
  );
const OF_REALMS = reading("figures_of_realms", "client_id = '' and ($3::uuid is null or realm_id = $3::uuid)");
const OF_OWNER = reading("figures_of_owner", `client_id = any(array(select clients.client_id from clients where owner_id = $3::uuid))`);

const REACHES: Readonly<Record<Span, string>> = { hour: "48 hours", day: "90 days" };

export const figures = (sql: Tx): Figures => ({
  ofRealms: (span, realmId) => rowsOf<Figure>(sql, OF_REALMS, [span, REACHES[span], realmId ?? null]),
  ofOwner: (span, userId) => sql.query<Figure>(OF_OWNER, [span, REACHES[span], userId]),
});
