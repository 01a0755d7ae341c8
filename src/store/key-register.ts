import type { KeyRegister, ServedKey } from "../core/signing/key-ring.ts";
import type { PublishedKey, PublishedKeys } from "../management/ports.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";
import { SIGNING_KEYS } from "./tables/records.ts";

/** When a core last had the key in its configuration. */
const LAST_SEEN = "greatest(published_at, in_use_at, configured_at)";

// Locks rows in the order of their keys, so that cores that publish the same keys at once cannot deadlock. A withdrawn key is published as
// a new one, for clients no longer have it.
const PUBLISH = statement(
  "key_publish_configured",
  `with entries as (select value ->> 'kid' as kid, value as jwk from jsonb_array_elements($1::jsonb)),
   added as (
     insert into signing_keys (kid, jwk, in_use_at, configured_at) select kid, jwk, case when kid = any($2::text[]) then now() end, now() from entries order by kid
     on conflict (kid) do nothing returning kid),
   existing as (
     select kid, ${LAST_SEEN} <= now() - make_interval(secs => $3::int) as withdrawn
     from signing_keys where kid in (select kid from entries) order by kid for no key update),
   renewed as (
     update signing_keys set configured_at = now(),
       in_use_at = case when signing_keys.kid = any($2::text[]) then now() else in_use_at end,
       published_at = case when existing.withdrawn then now() else published_at end
     from existing where signing_keys.kid = existing.kid)
   insert into audit_records (event, outcome, actor_type, actor_id)
   select 'key.published', 'success', 'service', kid from (select kid from added union all select kid from existing where withdrawn) as news`,
);

const SERVED = statement(
  "key_served_with_age",
  `select jwk, extract(epoch from now() - published_at)::float8 as age
   from signing_keys where ${LAST_SEEN} > now() - make_interval(secs => $1::int) order by published_at, kid`,
);

/** @param retention seconds that a key is served after a core last signed with it or had it configured; longer than any token lives */
export const keyRegister = (sql: Sql, retention: number): KeyRegister => ({
  publish: async (keys, inUse) => {
    await sql.query(PUBLISH, [jsonRows(keys.map((key) => ({ ...key }))), inUse, retention]);
    return sql.query<ServedKey>(SERVED, [retention]);
  },
});

/** Seconds within which a signing core reports its keys more than once. */
const REPORTED = 90;

const ALL = statement(
  "published_keys_with_state",
  `select ${SIGNING_KEYS.select(["kid", "jwk", "publishedAt", "inUseAt"])},
     case when in_use_at > now() - make_interval(secs => ${REPORTED}) then 'signing'
       when ${LAST_SEEN} > now() - make_interval(secs => $1::int) then 'published' else 'withdrawn' end as state
   from signing_keys order by signing_keys.published_at desc, kid`,
);

/** @param retention seconds, as for keyRegister */
export const publishedKeys = (sql: Sql, retention: number): PublishedKeys => ({ all: () => sql.query<PublishedKey>(ALL, [retention]) });
