import type { Grants } from "../core/ports.ts";
import { isUuid } from "../identifier.ts";
import { auditRow, entriesIn, insertAudit, newAuditRow } from "./audit-rows.ts";
import { clientEpoch, endGrants, GRANT_INPUT, grantRow, openGrants, standsOn, touchClients, userEpochPassed } from "./grant-rows.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

// The session is held until the grant is there, so that a sign-out waits for it and then ends it too (Sessions.endAll, endOne). It is held
// as for the update that follows: a share lock that becomes more would wait for a sign-out that waits for it.
const OPEN = statement(
  "grant_open",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(session_id uuid, ${GRANT_INPUT}, audit jsonb)),
   good as materialized (
     select input.*, null::jsonb as document_client, sessions.user_epoch, ${clientEpoch("input.client_id")} as client_epoch from input
       join sessions on sessions.id = input.session_id and sessions.user_id = input.user_id and ended_at is null and expires_at > now()
     where ${standsOn("input", "null")} and not ${userEpochPassed("sessions")}
     for no key update of sessions),
   ${openGrants("good")},
   told as (update sessions set grant_id = good.grant_id from good where sessions.id = good.session_id),
   ${touchClients("good")},
   logged as (${insertAudit("good")})
   select 1 as opened from good`,
);

const REVOKE = statement(
  "grant_revoke",
  `with ${endGrants("id = $1::uuid")},
   logged as (${insertAudit(`ended, ${entriesIn("$2")}`)})
   select 1 as ended from ended`,
);

export const grants = (sql: Sql): Grants => ({
  open: async (grant, family, sessionId, audit) => {
    if (!isUuid(sessionId)) return false;
    const row = { session_id: sessionId, ...grantRow(grant, family), audit: newAuditRow(audit) };
    return (await sql.query(OPEN, [jsonRows([row])])).length === 1;
  },
  revoke: async (grantId, audit) => {
    if (isUuid(grantId)) await sql.query(REVOKE, [grantId, jsonRows([auditRow(audit)])]);
  },
});
