import type { FamilyState, RefreshFamilies } from "../core/ports.ts";
import { asSecretHash, isUuid } from "../random.ts";
import { entriesIn, insertAudit, newAuditEntry } from "./audit-log.ts";
import { coalesceByHash, coalesceTransitions } from "./coalesce.ts";
import { pausedFor } from "./delegations.ts";
import { clientEpochPassed, endGrants, partiesLive } from "./grant-rows.ts";
import { termsAmong } from "./resources.ts";
import { amongKeys, fromHex, hex, jsonRows, rowsStatement, type Sql, seconds, statement } from "./sql.ts";
import { GRANTS, REFRESH_FAMILIES } from "./tables/grants.ts";
import { SUBJECT_JSON } from "./users.ts";

/** Audience values that name a disabled client, or neither a client nor a web URI (a resource). The grant's client has authenticated. */
const absentClients = `array(
  select value from unnest(audience) as value
  where value <> grants.client_id and value !~* '^https?:'
    and not coalesce((select clients.enabled from clients where clients.client_id = value), value ~ '^[A-Za-z][A-Za-z0-9+.-]*:[^[:space:]#]+$'))`;

const HOLDING = rowsStatement(
  "family_holding",
  `with keys as (select key, decode(key, 'hex') as hash from unnest($1::text[]) as key),
   found as (
     select key, hash, id, null::timestamptz as used_at from keys join refresh_families on current_hash = hash
     where ${amongKeys("current_hash", "hash", "keys")}
     union all
     select key, hash, family_id, used_at from keys join refresh_tokens on token_hash = hash
     where ${amongKeys("token_hash", "hash", "keys")})
   select key, family.id::text as "familyId", grants.id::text as "grantId", ${GRANTS.select(["clientId", "scopes", "audience", "authTime", "authentication", "documentClient"])},
     ${absentClients} as "absentClients", ${REFRESH_FAMILIES.select(["expiresAt", "cnf"], "family")},
     family.revoked_at is not null or grants.revoked_at is not null or users.epoch <> grants.user_epoch or ${clientEpochPassed("grants")} as revoked,
     ${seconds("used_at")} as "usedAt", encode(family.current_hash, 'hex') as "currentHash", ${seconds("now()")} as now, ${SUBJECT_JSON} as subject,
     ${pausedFor("grants.client_id", "grants.user_id")} as "agentPaused", ${termsAmong("audience")} as "resourceTerms"
   from found join refresh_families family on family.id = found.id join grants on grants.id = family.grant_id join users on users.id = grants.user_id`,
);

const isActive = `family.revoked_at is null and family.expires_at > now()
  and exists (select 1 from grants where grants.id = family.grant_id and grants.revoked_at is null and ${partiesLive("grants")})`;

const nextExpiry = (ttl: string): string => `least(family.ends_at, now() + make_interval(secs => ${ttl}))`;

const ROTATE = statement(
  "family_rotate",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(n int, family_id uuid, from_hash text, to_hash text, ttl int, cnf jsonb, audit jsonb)),
   won as (
     update refresh_families family
     set current_hash = decode(input.to_hash, 'hex'), expires_at = ${nextExpiry("input.ttl")}, cnf = coalesce(family.cnf, input.cnf)
     from input where ${amongKeys("family.id", "family_id", "input")} and family.id = input.family_id and family.current_hash = decode(input.from_hash, 'hex') and ${isActive}
     returning input.n, family.id, input.from_hash, input.audit),
   used as (insert into refresh_tokens (token_hash, family_id) select decode(from_hash, 'hex'), id from won),
   logged as (${insertAudit("won")})
   select n from won`,
);

const KEEP = statement(
  "family_keep",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(n int, family_id uuid, current_hash text, ttl int, audit jsonb)),
   live as materialized (
     select family.id, family.current_hash from refresh_families family
     where ${amongKeys("family.id", "family_id", "input")} and ${isActive} order by family.id for no key update),
   kept as (
     select input.n, input.ttl, input.audit, live.id from input
     join live on live.id = input.family_id and live.current_hash = decode(input.current_hash, 'hex')),
   extended as (
     update refresh_families family set expires_at = ${nextExpiry("used.ttl")} from (select id, max(ttl) as ttl from kept group by id) as used
     where ${amongKeys("family.id", "id", "kept")} and family.id = used.id),
   logged as (${insertAudit("kept")})
   select n from kept`,
);

// Each replay is recorded, though the family is revoked only once.
const REVOKE = statement(
  "family_revoke",
  `with ${endGrants("id = (select grant_id from refresh_families where id = $1::uuid)")} ${insertAudit(entriesIn("$2"))}`,
);

/** Hashes are hexadecimal. */
type FamilyRow = Omit<FamilyState, "currentHash"> & Readonly<Record<"key" | "currentHash", string>>;

const stateOf = ({ key: _, currentHash, ...family }: FamilyRow): FamilyState => ({
  ...family,
  currentHash: asSecretHash(fromHex(currentHash)),
});

const rotated = (...[familyId, from, { hash, ttl, cnf }, audit]: Parameters<RefreshFamilies["rotate"]>) => ({
  family_id: familyId,
  from_hash: hex(from),
  to_hash: hex(hash),
  ttl,
  cnf,
  audit: newAuditEntry(audit),
});

const kept = (...[familyId, current, ttl, audit]: Parameters<RefreshFamilies["keep"]>) => ({
  family_id: familyId,
  current_hash: hex(current),
  ttl,
  audit: newAuditEntry(audit),
});

export function refreshFamilies(sql: Sql): RefreshFamilies {
  const rotate = coalesceTransitions(sql, ROTATE, rotated, "family_id");
  const keep = coalesceTransitions(sql, KEEP, kept);
  return {
    holding: coalesceByHash(sql, HOLDING, stateOf),
    rotate: async (familyId, ...how) => isUuid(familyId) && rotate(familyId, ...how),
    keep: async (familyId, ...how) => isUuid(familyId) && keep(familyId, ...how),
    revoke: async (familyId, audit) => {
      if (isUuid(familyId)) await sql.query(REVOKE, [familyId, jsonRows([audit])]);
    },
  };
}
