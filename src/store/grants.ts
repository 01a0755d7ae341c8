import type { Grants } from "../core/ports.ts";
import { isUuid } from "../random.ts";
import { auditEach, insertAudit, newAuditEntry } from "./audit-log.ts";
import { clientEpoch, endGrants, GRANT_INPUT, grantRow, openGrants, partiesEnabled, userEpochPassed } from "./grant-rows.ts";
import { strongEnough } from "./sessions.ts";
import { hasRow, jsonRows, type Sql, statement } from "./sql.ts";

// Locks the session until the grant is stored, so that a sign-out waits for it and then ends it too (Sessions.endAll, endOne). The lock is
// that of the update that follows: raising a share lock could deadlock with a sign-out. A session has one grant: that of an earlier sign-in in
// it, which could no longer end with it, ends now.
const OPEN = statement(
  "grant_open",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(session_id uuid, ${GRANT_INPUT}, audit jsonb)),
   valid as materialized (
     select input.*, null::jsonb as document_client, sessions.grant_id as earlier, sessions.user_epoch, ${clientEpoch("input.client_id")} as client_epoch from input
       join sessions on sessions.id = input.session_id and sessions.user_id = input.user_id and ended_at is null and expires_at > now()
       join users on users.id = input.user_id
     where ${partiesEnabled("input", "null")} and not ${userEpochPassed("sessions")} and ${strongEnough()}
     for no key update of sessions),
   ${openGrants("valid")},
   ${endGrants("id = any(array(select earlier from valid))", "signed_out_at")},
   assigned as (update sessions set grant_id = valid.grant_id, ended_at = case when valid.family_id is null then now() end from valid where sessions.id = valid.session_id),
   logged as (${insertAudit("valid")})
   select 1 as opened from valid`,
);

const REVOKE = statement(
  "grant_revoke",
  `with ${endGrants("id = $1::uuid")},
   logged as (${auditEach("ended", "$2")})
   select 1 as ended from ended`,
);

export const grants = (sql: Sql): Grants => ({
  open: async (grant, family, sessionId, audit) => {
    if (!isUuid(sessionId)) return false;
    const row = { session_id: sessionId, ...grantRow(grant, family), audit: newAuditEntry(audit) };
    return hasRow(sql, OPEN, [jsonRows([row])]);
  },
  revoke: async (grantId, audit) => {
    if (isUuid(grantId)) await sql.query(REVOKE, [grantId, jsonRows([audit])]);
  },
});
