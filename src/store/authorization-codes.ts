import type { AuditEntry } from "../audit.ts";
import type { AuthorizationCodes, CodeBinding, CodeState, NewFamily } from "../core/ports.ts";
import { scopesByResource } from "../core/scopes-by-resource.ts";
import type { NewGrant } from "../core/user-grant.ts";
import type { SecretHash } from "../secret.ts";
import { insertAudit, newAuditRow } from "./audit-rows.ts";
import { coalesceReads, coalesceWrites } from "./coalesce.ts";
import { clientStands, documentClientOf, type KeptClient, keptClient } from "./document-client.ts";
import {
  clientEpoch,
  clientEpochPassed,
  GRANT_INPUT,
  grantRow,
  inOrder,
  openGrants,
  standsOn,
  touchClients,
  touchConsents,
  userEpochPassed,
  verdicts,
} from "./grant-rows.ts";
import { amongKeys, hex, jsonRows, readRows, rowsStatement, type Sql, seconds, statement, unindexed, unindexedText } from "./sql.ts";
import { type SubjectColumns, subjectColumns, subjectOf } from "./subject-rows.ts";

const covers = `consents.user_id = i.user_id and ${unindexedText("consents.client_id")} = i.client_id
       and consents.allowed @> i.wanted
       and ${amongKeys("consents.user_id", "user_id", "input")}`;

// Session and consent are held until the code is there: an ending of either waits for it, and then finds the code (Sessions.endAll,
// Consents.revoke). All sessions of a batch are held before its consents, for what is sorted is read to its end before its first row is
// locked (docs/decisions/0014-locks-in-one-order.md). Of two issues of one code the second waits for the first, so codes are inserted in order.
const ISSUE = statement(
  "code_issue",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       n int, code_hash text, client_id text, user_id uuid, session_id uuid, redirect_uri text, code_challenge text, scopes text[],
       resources text[], nonce text, auth_time float8, ttl int, document_client jsonb, client_fingerprint text, wanted jsonb, audit jsonb)),
   present as materialized (
     select i.n, i.user_id, i.client_id, i.client_fingerprint, i.wanted, sessions.user_epoch from input i
       join sessions on sessions.id = i.session_id and sessions.user_id = i.user_id and ended_at is null and expires_at > now()
       join users on users.id = i.user_id and users.enabled and users.epoch = sessions.user_epoch
     where ${amongKeys("sessions.id", "session_id", "input")} and ${clientStands("i.client_id", "i.document_client")}
     order by sessions.id for share of sessions),
   agreed as materialized (
     select i.n from present i join consents on ${covers} where i.client_fingerprint is null
     order by consents.id for share of consents),
   agreed_to_mark as materialized (
     select i.n, consents.id, i.client_fingerprint from present i join consents on ${covers}
     where i.client_fingerprint = coalesce(consents.client_fingerprint, i.client_fingerprint)
     order by consents.id for no key update of consents),
   good as (
     select input.*, present.user_epoch, ${clientEpoch("input.client_id")} as client_epoch from input join present using (n)
     where n in (select n from agreed union all select n from agreed_to_mark)),
   marked as (
     update consents set client_fingerprint = agreed_to_mark.client_fingerprint from agreed_to_mark
     where ${amongKeys("consents.id", "id", "agreed_to_mark")} and consents.id = agreed_to_mark.id and consents.client_fingerprint is null),
   stored as (
     insert into authorization_codes (code_hash, client_id, user_id, session_id, redirect_uri, code_challenge, scopes, resources, nonce, auth_time,
       expires_at, document_client, user_epoch, client_epoch)
     select decode(code_hash, 'hex'), client_id, user_id, session_id, redirect_uri, code_challenge, scopes, resources, nonce, to_timestamp(auth_time),
       now() + make_interval(secs => ttl), document_client, user_epoch, client_epoch from good
     order by code_hash
     on conflict (code_hash) do nothing returning code_hash),
   fresh as (select distinct on (good.code_hash) good.* from good join stored on stored.code_hash = decode(good.code_hash, 'hex')),
   logged as (${insertAudit("fresh")})
   select n from good`,
);

const BY_HASH = rowsStatement(
  "code_by_hash",
  `select encode(code_hash, 'hex') as key, client_id, redirect_uri, code_challenge, scopes, resources, nonce, session_id::text,
     ${seconds("auth_time")} as auth_time, ${seconds("expires_at")} as expires_at, grant_id::text, document_client, ${seconds("now()")} as now,
     ${subjectColumns("users")}
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
       and code.client_id = input.client_id and code.user_id = input.user_id and ${standsOn("input", "code.document_client")} and not ${userEpochPassed("code")} and not ${clientEpochPassed("code")}
     returning input.n, code.document_client, code.user_epoch, code.client_epoch),
   winners as (select input.*, won.document_client, won.user_epoch, won.client_epoch from input join won using (n)),
   ${openGrants("winners")},
   ${touchClients("winners")},
   ${touchConsents("winners")},
   logged as (${insertAudit("winners")})
   select n from won`,
);

interface CodeColumns extends SubjectColumns {
  readonly key: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly code_challenge: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly nonce: string | null;
  readonly session_id: string;
  readonly auth_time: number;
  readonly expires_at: number;
  readonly grant_id: string | null;
  readonly document_client: KeptClient | null;
  readonly now: number;
}

const stateOf = (row: CodeColumns): CodeState => ({
  clientId: row.client_id,
  redirectUri: row.redirect_uri,
  codeChallenge: row.code_challenge,
  scopes: row.scopes,
  resources: row.resources,
  nonce: row.nonce,
  userId: row.user_id,
  sessionId: row.session_id,
  authTime: row.auth_time,
  expiresAt: row.expires_at,
  grantId: row.grant_id,
  subject: subjectOf(row),
  ...documentClientOf(row.document_client),
  now: row.now,
});

const issueRow = (n: number, codeHash: SecretHash, binding: CodeBinding, ttl: number, audit: AuditEntry) => ({
  n,
  code_hash: hex(codeHash),
  client_id: binding.clientId,
  user_id: binding.userId,
  session_id: binding.sessionId,
  redirect_uri: binding.redirectUri,
  code_challenge: binding.codeChallenge,
  scopes: binding.scopes,
  resources: binding.resources,
  nonce: binding.nonce,
  auth_time: binding.authTime,
  ttl,
  document_client: keptClient(binding.documentClient),
  client_fingerprint: binding.clientFingerprint,
  wanted: scopesByResource(binding.scopes, binding.resources),
  audit: newAuditRow(audit),
});

type Issue = Parameters<AuthorizationCodes["issue"]>;
type Redemption = readonly [codeHash: SecretHash, grant: NewGrant, family: NewFamily | undefined, audit: AuditEntry];

export function authorizationCodes(sql: Sql): AuthorizationCodes {
  const issue = coalesceWrites(async (issues: readonly Issue[]) =>
    verdicts(issues, await sql.query<{ n: number }>(ISSUE, [jsonRows(issues.map((given, n) => issueRow(n, ...given)))])),
  );
  const redeem = coalesceWrites(async (redemptions: readonly Redemption[]) => {
    const rows = redemptions.map(([codeHash, grant, family, audit], n) => ({
      n,
      code_hash: hex(codeHash),
      ...grantRow(grant, family),
      audit: newAuditRow(audit),
    }));
    return verdicts(rows, await sql.query<{ n: number }>(REDEEM, [jsonRows(inOrder(rows, "code_hash"))]));
  });
  return {
    issue: (...given) => issue(given),
    byHash: coalesceReads(async (hashes: readonly SecretHash[]) => {
      const rows = await readRows<CodeColumns>(sql, BY_HASH, [hashes.map(hex)]);
      return new Map(rows.map((row) => [row.key, stateOf(row)]));
    }, hex),
    redeem: (...given) => redeem(given),
  };
}
