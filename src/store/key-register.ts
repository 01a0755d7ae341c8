import type { KeyRegister, ServedKey } from "../core/signing/key-ring.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

/** The last moment at which a core had the key in its configuration; a key of an older release has only the other two. */
export const LAST_SEEN = "greatest(published_at, in_use_at, configured_at)";

// The rows are locked in one order, so that cores that publish the same keys at once wait for each other and never for ever. A key that was
// withdrawn is as good as new: nobody has it any more.
const PUBLISH = statement(
  "key_publish_configured",
  `with given as (select value ->> 'kid' as kid, value as jwk from jsonb_array_elements($1::jsonb)),
   added as (
     insert into signing_keys (kid, jwk, in_use_at, configured_at) select kid, jwk, case when kid = any($2::text[]) then now() end, now() from given order by kid
     on conflict (kid) do nothing returning kid),
   known as (
     select kid, ${LAST_SEEN} <= now() - make_interval(secs => $3::int) as withdrawn
     from signing_keys where kid in (select kid from given) order by kid for no key update),
   marked as (
     update signing_keys set configured_at = now(),
       in_use_at = case when signing_keys.kid = any($2::text[]) then now() else in_use_at end,
       published_at = case when known.withdrawn then now() else published_at end
     from known where signing_keys.kid = known.kid)
   insert into audit_records (event, outcome, actor_type, actor_id)
   select 'key.published', 'success', 'service', kid from (select kid from added union all select kid from known where withdrawn) as news`,
);

const SERVED = statement(
  "key_served_with_age",
  `select jwk, extract(epoch from now() - published_at)::float8 as age
   from signing_keys where ${LAST_SEEN} > now() - make_interval(secs => $1::int) order by published_at, kid`,
);

/**
 * @param retention seconds for which a key is served after a core last signed with it, or had it configured; longer than any token lives
 */
export const keyRegister = (sql: Sql, retention: number): KeyRegister => ({
  publish: async (keys, inUse) => {
    await sql.query(PUBLISH, [jsonRows(keys.map((key) => ({ ...key }))), inUse, retention]);
    return sql.query<ServedKey>(SERVED, [retention]);
  },
});
