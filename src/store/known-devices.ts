import type { KnownDevices } from "../accounts/known-devices.ts";
import type { SecretHash } from "../random.ts";
import { coalesceReads } from "./coalesce.ts";
import { amongKeys, execute, hex, readRows, rowsStatement, statement, type Tx } from "./sql.ts";

const KNOWN = rowsStatement(
  "device_known",
  `select encode(key_hash, 'hex') as key from known_devices
   where ${amongKeys("key_hash", "decode(key, 'hex')", "unnest($1::text[]) as key")} and expires_at > now()`,
);
const REMEMBER = statement(
  "device_remember",
  `insert into known_devices (key_hash, user_id, expires_at)
   select $1::bytea, users.id, now() + make_interval(secs => $3::int) from users where users.id = $2::uuid
   on conflict (key_hash) do update set expires_at = excluded.expires_at`,
);

export function knownDevices(sql: Tx): KnownDevices {
  const load = coalesceReads(async (keys: readonly SecretHash[]) => {
    const rows = await readRows<{ readonly key: string }>(sql, KNOWN, [keys.map(hex)]);
    return new Map(rows.map(({ key }) => [key, true]));
  }, hex);
  return {
    isKnown: async (key) => (await load(key)) === true,
    remember: (key, userId, ttl) => execute(sql, REMEMBER, [key, userId, ttl]),
  };
}
