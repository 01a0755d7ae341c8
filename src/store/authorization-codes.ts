import type { AuditEntry } from "../audit.ts";
import { CONSOLE_CLIENT_ID } from "../clients/client.ts";
import { scopesByResource } from "../core/policy/consent.ts";
import type { AuthorizationCodes, CodeBinding, CodeState, NewFamily, NewGrant } from "../core/stored-grants.ts";
import type { SecretHash } from "../random.ts";
import { insertAudit, newAuditEntry } from "./audit-log.ts";
import { coalesceByHash, coalesceTransitions } from "./coalesce.ts";
import { pausedFor } from "./delegations.ts";
import { clientEpoch, GRANT_INPUT, grantRow, isClientEnabled, openGrants, partiesLive } from "./grant-rows.ts";
import { termsAmong } from "./resources.ts";
import { demandedOf, strongEnough } from "./sessions.ts";
import { amongKeys, hex, rowsStatement, type Sql, seconds, statement, unindexed, unindexedText } from "./sql.ts";
import { AUTHORIZATION_CODES } from "./tables/grants.ts";
import { without } from "./tables/table.ts";
import { SUBJECT_JSON } from "./users.ts";

const NEW = without(AUTHORIZATION_CODES.members, [
  "createdAt",
  "expiresAt",
  "consumedAt",
  "grantId",
  "userEpoch",
  "clientEpoch",
  "authentication",
]);
const STATE = [...without(NEW, ["codeHash"]), "expiresAt", "grantId", "authentication"] as const;

const covers = `consents.user_id = i.user_id and ${unindexedText("consents.client_id")} = i.client_id
       and consents.allowed @> i.requested
       and ${amongKeys("consents.user_id", "user_id", "input")}`;

/** What a code states of the sign-in where only the user's realm demands one. */
const BY_REALM = JSON.stringify({ requested: [], inIdToken: false } satisfies CodeBinding["stated"]);

// Locks session and consent until the code is stored: ending either waits for that, and then finds the code (Sessions.endAll,
// Consents.revoke). All sessions of a batch are locked before its consents: a sorted CTE is read to its end before its first row is locked
// (docs/decisions/0014). Pushed requests are locked after both, so that only an issue with session and consent uses one up. Codes are inserted in order: of two issues of one code the second waits for the first.
const ISSUE = statement(
  "code_issue",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       n int, ${AUTHORIZATION_CODES.recordset(NEW)}, ttl int, client_fingerprint text, requested jsonb, authentication jsonb,
       required_acr text, required_max_age int, pushed_request text, audit jsonb)),
   present as materialized (
     select i.n, i.user_id, i.client_id, i.client_fingerprint, i.requested, sessions.user_epoch,
       coalesce(i.authentication, case when ${demandedOf("users")} is not null then '${BY_REALM}'::jsonb end)
         || jsonb_build_object('acr', sessions.proved_acr, 'amr', sessions.amr) as authentication from input i
       join sessions on sessions.id = i.session_id and sessions.user_id = i.user_id and ended_at is null and expires_at > now()
       join users on users.id = i.user_id and users.enabled and users.epoch = sessions.user_epoch
     where ${amongKeys("sessions.id", "session_id", "input")} and ${isClientEnabled("i.client_id", "i.document_client")}
       and ${strongEnough("i.required_acr")}
       and (i.required_max_age is null or sessions.proved_at >= now() - make_interval(secs => i.required_max_age))
     order by sessions.id for share of sessions),
   agreed as materialized (
     select i.n from present i join consents on ${covers} where i.client_fingerprint is null
     order by consents.id for share of consents),
   fingerprinted as materialized (
     select i.n, consents.id, i.client_fingerprint from present i join consents on ${covers}
     where i.client_fingerprint = coalesce(consents.client_fingerprint, i.client_fingerprint)
     order by consents.id for no key update of consents),
   consented as (
     select n from agreed union all select n from fingerprinted
     union all select n from present where client_id = '${CONSOLE_CLIENT_ID}'),
   pushed as materialized (
     select id_hash, code_hash from pushed_requests
     where ${amongKeys("id_hash", "decode(pushed_request, 'hex')", "input join consented using (n)")} and ${unindexed("expires_at")} > now()
     order by id_hash for no key update),
   used as materialized (
     select distinct on (pushed.id_hash) pushed.id_hash, decode(input.code_hash, 'hex') as code_hash
     from input join consented using (n) join pushed on pushed.id_hash = decode(input.pushed_request, 'hex')
     where pushed.code_hash is null or pushed.code_hash = decode(input.code_hash, 'hex') order by pushed.id_hash, n),
   used_up as (
     update pushed_requests set code_hash = used.code_hash from used
     where ${amongKeys("pushed_requests.id_hash", "id_hash", "used")} and pushed_requests.id_hash = used.id_hash
       and pushed_requests.code_hash is null),
   valid as (
     select input.*, present.user_epoch, present.authentication as stated, ${clientEpoch("input.client_id")} as client_epoch from input join present using (n)
     where n in (select n from consented)
       and (pushed_request is null or (decode(pushed_request, 'hex'), decode(input.code_hash, 'hex')) in (select id_hash, code_hash from used))),
   bound as (
     update consents set client_fingerprint = fingerprinted.client_fingerprint from fingerprinted
     where ${amongKeys("consents.id", "id", "fingerprinted")} and consents.id = fingerprinted.id and consents.client_fingerprint is null),
   stored as (
     insert into authorization_codes (${AUTHORIZATION_CODES.names(NEW)}, expires_at, user_epoch, client_epoch, authentication)
     select ${AUTHORIZATION_CODES.values(NEW)}, now() + make_interval(secs => ttl), user_epoch, client_epoch, stated from valid
     order by code_hash
     on conflict (code_hash) do nothing returning code_hash),
   fresh as (select distinct on (valid.code_hash) valid.* from valid join stored on stored.code_hash = decode(valid.code_hash, 'hex')),
   logged as (${insertAudit("fresh")})
   select n from valid`,
);

const BY_HASH = rowsStatement(
  "code_by_hash",
  `select encode(code_hash, 'hex') as key, ${AUTHORIZATION_CODES.select(STATE)}, ${seconds("now()")} as now, ${SUBJECT_JSON} as subject,
     ${pausedFor("authorization_codes.client_id", "authorization_codes.user_id")} as "agentPaused", ${termsAmong("authorization_codes.resources")} as "resourceTerms"
   from authorization_codes join users on users.id = authorization_codes.user_id
   where ${amongKeys("code_hash", "decode(key, 'hex')", "unnest($1::text[]) as key")}`,
);

const REDEEM = statement(
  "code_redeem",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(n int, code_hash text, ${GRANT_INPUT}, audit jsonb)),
   won as (
     update authorization_codes code set consumed_at = now(), grant_id = input.grant_id from input
     where ${amongKeys("code.code_hash", "decode(code_hash, 'hex')", "input")} and code.code_hash = decode(input.code_hash, 'hex') and code.consumed_at is null
       and ${unindexed("code.expires_at")} > now()
       and code.client_id = input.client_id and code.user_id = input.user_id and ${partiesLive("code", "input")}
     returning input.n, code.document_client, code.user_epoch, code.client_epoch),
   winners as (select input.*, won.document_client, won.user_epoch, won.client_epoch from input join won using (n)),
   ${openGrants("winners")},
   logged as (${insertAudit("winners")})
   select n from won`,
);

const newRow = AUTHORIZATION_CODES.writer(NEW);

const issued = (codeHash: SecretHash, binding: CodeBinding, ttl: number, audit: AuditEntry) => ({
  ...newRow({ ...binding, codeHash, dpopJkt: binding.dpopJkt ?? null, documentClient: binding.documentClient }),
  ttl,
  client_fingerprint: binding.clientFingerprint,
  requested: scopesByResource(binding.scopes, binding.resources),
  authentication: binding.stated,
  pushed_request: binding.pushedRequest && hex(binding.pushedRequest),
  required_acr: binding.demand?.acr,
  required_max_age: binding.demand?.maxAge,
  audit: newAuditEntry(audit),
});

const redeemed = (codeHash: SecretHash, grant: NewGrant, family: NewFamily | undefined, audit: AuditEntry) => ({
  code_hash: hex(codeHash),
  ...grantRow(grant, family),
  audit: newAuditEntry(audit),
});

export const authorizationCodes = (sql: Sql): AuthorizationCodes => ({
  issue: coalesceTransitions(sql, ISSUE, issued),
  byHash: coalesceByHash(sql, BY_HASH, ({ key: _, ...code }: CodeState & { readonly key: string }) => code),
  redeem: coalesceTransitions(sql, REDEEM, redeemed, "code_hash"),
});
