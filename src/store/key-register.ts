import type { KeyRegister, PublicJwk } from "../core/signing/keys.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

const PUBLISH = statement(
  "key_publish",
  `with given as (select value ->> 'kid' as kid, value as jwk from jsonb_array_elements($1::jsonb)),
   added as (
     insert into signing_keys (kid, jwk, in_use_at) select kid, jwk, case when kid = any($2::text[]) then now() end from given
     on conflict (kid) do nothing returning kid),
   marked as (update signing_keys set in_use_at = now() where kid = any($2::text[]))
   insert into audit_records (event, outcome, actor_type, actor_id) select 'key.published', 'success', 'service', kid from added`,
);

const SERVED = statement(
  "key_served",
  `select jwk from signing_keys where greatest(published_at, in_use_at) > now() - make_interval(secs => $1::int) order by published_at, kid`,
);

/** @param retention seconds for which a key is served after a core last signed with it; longer than any token lives */
export const keyRegister = (sql: Sql, retention: number): KeyRegister => ({
  publish: async (keys, inUse) => {
    await sql.query(PUBLISH, [jsonRows(keys.map((key) => ({ ...key }))), inUse]);
    return (await sql.query<{ jwk: PublicJwk }>(SERVED, [retention])).map(({ jwk }) => jwk);
  },
});
