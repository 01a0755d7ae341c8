import type { KeyRegister, ServedKey } from "../core/signing/key-ring.ts";
import type { PublishedKey, PublishedKeys } from "../management/ports.ts";
import { auditEach } from "./audit-log.ts";
import { firstRow, jsonRows, type Sql, statement, statements } from "./sql.ts";
import { SIGNING_KEYS } from "./tables/records.ts";

/** When a core last had the key in its configuration. */
const LAST_SEEN = "greatest(published_at, in_use_at, configured_at)";

const SQL = statements("key", {
  // Locks rows in the order of their keys, so that cores that publish the same keys at once cannot deadlock. A key that was no longer served
  // is published as a new one, for clients no longer have it; one that an operator has withdrawn is not published again.
  publishConfigured: `with entries as (select value ->> 'kid' as kid, value as jwk from jsonb_array_elements($1::jsonb)),
   added as (
     insert into signing_keys (kid, jwk, in_use_at, configured_at) select kid, jwk, case when kid = any($2::text[]) then now() end, now() from entries order by kid
     on conflict (kid) do nothing returning kid),
   existing as (
     select kid, ${LAST_SEEN} <= now() - make_interval(secs => $3::int) as forgotten
     from signing_keys where kid in (select kid from entries) and withdrawn_at is null order by kid for no key update),
   renewed as (
     update signing_keys set configured_at = now(),
       in_use_at = case when signing_keys.kid = any($2::text[]) then now() else in_use_at end,
       published_at = case when existing.forgotten then now() else published_at end
     from existing where signing_keys.kid = existing.kid)
   insert into audit_records (event, outcome, actor_type, actor_id)
   select 'key.published', 'success', 'service', kid from (select kid from added union all select kid from existing where forgotten) as news`,
  servedWithAge: `select jwk, extract(epoch from now() - published_at)::float8 as age, withdrawn_at is not null as withdrawn
   from signing_keys where ${LAST_SEEN} > now() - make_interval(secs => $1::int) or withdrawn_at is not null order by published_at, kid`,
});

/** @param retention seconds that a key is served after a core last signed with it or had it configured; longer than any token lives */
export const keyRegister = (sql: Sql, retention: number): KeyRegister => ({
  publish: async (keys, inUse) => {
    await sql.query(SQL.publishConfigured, [jsonRows(keys.map((key) => ({ ...key }))), inUse, retention]);
    return sql.query<ServedKey>(SQL.servedWithAge, [retention]);
  },
});

/** Seconds within which a signing core reports its keys more than once. */
const REPORTED = 90;

const ALL = statement(
  "published_keys_with_state",
  `select ${SIGNING_KEYS.select(["kid", "jwk", "publishedAt", "inUseAt"])},
     case when withdrawn_at is not null then 'withdrawn' when in_use_at > now() - make_interval(secs => ${REPORTED}) then 'signing'
       when ${LAST_SEEN} > now() - make_interval(secs => $1::int) then 'published' else 'withdrawn' end as state
   from signing_keys order by signing_keys.published_at desc, kid`,
);

/** Withdraws a key that no core has signed with for REPORTED seconds. A key that was withdrawn before stays so, without a record. */
const WITHDRAW = statement(
  "key_withdraw",
  `with found as (
     select kid, withdrawn_at, coalesce(in_use_at > now() - make_interval(secs => ${REPORTED}), false) as signs
     from signing_keys where kid = $1 for no key update),
   withdrawn as (
     update signing_keys set withdrawn_at = now() from found
     where signing_keys.kid = found.kid and found.withdrawn_at is null and not found.signs returning found.kid),
   logged as (${auditEach("withdrawn", "$2")})
   select case when withdrawn_at is null and signs then 'signs' else 'withdrawn' end as outcome from found`,
);

/** @param retention seconds, as for keyRegister */
export const publishedKeys = (sql: Sql, retention: number): PublishedKeys => ({
  all: () => sql.query<PublishedKey>(ALL, [retention]),
  withdraw: async (kid, audit) => (await firstRow<{ outcome: "signs" | "withdrawn" }>(sql, WITHDRAW, [kid, jsonRows([audit])]))?.outcome,
});
