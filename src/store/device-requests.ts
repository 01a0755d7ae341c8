import type { DeviceRequests, DeviceState } from "../core/stored-grants.ts";
import { firstRow, hasRow, jsonRows, type Sql, seconds, statements } from "./sql.ts";
import { DEVICE_REQUESTS } from "./tables/grants.ts";
import { without } from "./tables/table.ts";

const NEW = without(DEVICE_REQUESTS.members, ["createdAt", "expiresAt", "polledAt", "deniedAt"]);
const STATE = without(DEVICE_REQUESTS.members, ["userCodeHash", "createdAt", "pollInterval", "polledAt"]);

const select = `select ${DEVICE_REQUESTS.select(STATE)}, ${seconds("now()")} as now from device_requests`;

const PENDING = `denied_at is null and expires_at > now()
     and not exists (select 1 from authorization_codes where code_hash = device_requests.device_code_hash)`;

const SQL = statements("device", {
  open: `insert into device_requests (${DEVICE_REQUESTS.names(NEW)}, expires_at)
   select ${DEVICE_REQUESTS.values(NEW)}, now() + make_interval(secs => ttl)
   from jsonb_to_recordset($1::jsonb) as i(${DEVICE_REQUESTS.recordset(NEW)}, ttl int)
   on conflict do nothing returning 1 as opened`,
  byCode: `${select} where device_code_hash = $1::bytea`,
  byId: `${select} where id = $1::uuid`,
  byUserCode: `select id::text as id from device_requests where user_code_hash = $1::bytea and ${PENDING}`,
  // The row lock orders parallel polls: the later ones see the time of the first. Requests are on their way for different times, so that a
  // second less than the interval is not too soon.
  poll: `with before as materialized (
     select id, coalesce(polled_at > now() - make_interval(secs => poll_interval - 1), false) as too_soon from device_requests
     where device_code_hash = $1::bytea for no key update)
   update device_requests set polled_at = now(), poll_interval = poll_interval + case when before.too_soon then $2::int else 0 end
   from before where device_requests.id = before.id returning before.too_soon as "tooSoon"`,
  deny: `with denied as (update device_requests set denied_at = now() where id = $1::uuid and ${PENDING})
   select 1 as approved from device_requests join authorization_codes on code_hash = device_code_hash
   where device_requests.id = $1::uuid and denied_at is null`,
});

const newRow = DEVICE_REQUESTS.writer(NEW);

export const deviceRequests = (sql: Sql): DeviceRequests => ({
  open: ({ documentClient, ...request }, ttl) => hasRow(sql, SQL.open, [jsonRows([{ ...newRow({ ...request, documentClient }), ttl }])]),
  byDeviceCode: (hash) => firstRow<DeviceState>(sql, SQL.byCode, [hash]),
  byId: (id) => firstRow<DeviceState>(sql, SQL.byId, [id]),
  pendingByUserCode: async (hash) => (await firstRow<{ id: string }>(sql, SQL.byUserCode, [hash]))?.id,
  poll: async (hash, step) => (await firstRow<{ tooSoon: boolean }>(sql, SQL.poll, [hash, step]))?.tooSoon === true,
  deny: async (id) => !(await hasRow(sql, SQL.deny, [id])),
});
