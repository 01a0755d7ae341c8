import type { User } from "../accounts/ports.ts";
import { type AuditEvent, realmUri } from "../audit.ts";
import { ASSERTION_UNUSED, NOT_PAUSED, USER_ENABLED } from "../core/grants/jwt-bearer/rules.ts";
import type { AssertedIdentity, IdentityAssertions } from "../core/stored-grants.ts";
import { Refusal } from "../errors.ts";
import { insertAudit } from "./audit-log.ts";
import { consume, isConsumed } from "./consumed-ids.ts";
import { pausedFor } from "./delegations.ts";
import { GRANT_INPUT, grantRow, openGrants } from "./grant-rows.ts";
import { firstRow, hasRow, jsonRows, type Sql, type Statement, statements, type Tx } from "./sql.ts";
import { emailKey, openAccounts } from "./users.ts";

type LinkedUser = Pick<User, "id" | "enabled">;

const VERIFIED = "select id::text, enabled from users where email_key = $1 and email_verified and realm_id = $2::uuid";

const SQL = statements("identity", {
  linked: `select users.id::text, users.enabled from identity_links join users on users.id = identity_links.user_id where issuer = $1 and subject = $2`,
  byEmail: VERIFIED,
  // Locked as by open: the foreign key of a new link locks less, and to raise that later could deadlock with the deletion of the account.
  holdByEmail: `${VERIFIED} for share`,
  /** A parallel caller waits here for the first, and then finds the link. Only an identity that has opened the account may sign in to it. */
  link: `with linked as (
     insert into identity_links (issuer, subject, user_id, confirmed) values ($1, $2, $3::uuid, $5::boolean) on conflict (issuer, subject) do nothing returning user_id::text),
   logged as (
     insert into audit_records (event, outcome, actor_type, actor_id, user_id, resources)
     select event, 'success', 'service', 'identity-assertion', user_id, case event when 'user.registered' then array[$6::text] end
     from linked, unnest($4::text[]) as event)
   select 1 as linked from linked`,
  dropUser: "delete from users where id = $1::uuid",
  // User and client are read again here, together with their epochs: one who was disabled since gets no grant. The locks let one who is
  // disabled or deleted from now on wait for the grant, which then ends with all others. Only conditions on the locked rows themselves count
  // after a wait; the user's is locked first (docs/decisions/0014).
  open: `with input as (select * from jsonb_to_recordset($1::jsonb) as i(${GRANT_INPUT}, audit jsonb)),
   owned as materialized (
     select input.*, null::jsonb as document_client, users.epoch as user_epoch
     from input join users on users.id = input.user_id and users.enabled for share of users),
   valid as materialized (
     select owned.*, clients.epoch as client_epoch
     from owned join clients on clients.client_id = owned.client_id and clients.enabled
     where not ${pausedFor("owned.client_id", "owned.user_id")} for key share of clients),
   ${openGrants("valid")},
   logged as (${insertAudit("valid")})
   select 1 as opened from valid`,
  agentPaused: `select 1 as one where ${pausedFor("$1", "$2::uuid")}`,
});

/** Rolls the transaction back. */
const refuse = (reason: string, rule: string): never => {
  throw new Refusal("invalid_grant", reason, { rule });
};

async function ownerOf(
  tx: Tx,
  { verifiedEmail, realmId }: Pick<AssertedIdentity, "verifiedEmail" | "realmId">,
  read: Statement,
): Promise<LinkedUser | undefined> {
  return verifiedEmail === undefined ? undefined : firstRow<LinkedUser>(tx, read, [emailKey(verifiedEmail), realmId]);
}

async function userOf(tx: Tx, identity: AssertedIdentity): Promise<LinkedUser | undefined> {
  const { issuer, subject, realmId, newUserId } = identity;
  const linked = () => firstRow<LinkedUser>(tx, SQL.linked, [issuer, subject]);
  const existing = await linked();
  if (existing !== undefined) return existing;
  const owner = await ownerOf(tx, identity, SQL.holdByEmail);
  // The address can belong to no one: the one that the other issuer asserts is not verified here, so no account gets it.
  if (owner === undefined) await openAccounts(tx, [{ id: newUserId, realmId, email: `${newUserId}@identity.invalid` }]);
  const user = owner ?? { id: newUserId, enabled: true };
  const events: readonly AuditEvent[] = owner === undefined ? ["user.registered", "identity.linked"] : ["identity.linked"];
  if (await hasRow(tx, SQL.link, [issuer, subject, user.id, events, owner === undefined, realmUri(realmId)])) return user;
  if (owner === undefined) await tx.query(SQL.dropUser, [newUserId]);
  return linked();
}

export const identityAssertions = (sql: Sql): IdentityAssertions => ({
  outlook: async ({ issuer, subject, verifiedEmail, realmId, jti }, clientId) => {
    const [linked] = await sql.query<LinkedUser>(SQL.linked, [issuer, subject]);
    const user = linked ?? (await ownerOf(sql, { verifiedEmail, realmId }, SQL.byEmail));
    const [paused, used] = await Promise.all([
      sql.query(SQL.agentPaused, [clientId, user?.id ?? null]),
      isConsumed(sql, "identity_assertion", issuer, jti),
    ]);
    return { enabled: user?.enabled ?? true, agentPaused: paused.length === 1, used };
  },

  accept: (identity, grant, audit) =>
    sql.transaction(async (tx) => {
      const userId = (await userOf(tx, identity))?.id;
      const row = userId !== undefined && { ...grantRow({ ...grant, userId }, undefined), audit: { ...audit, userId } };
      if (!row || !(await hasRow(tx, SQL.open, [jsonRows([row])]))) {
        const [user] = await tx.query<LinkedUser>(SQL.linked, [identity.issuer, identity.subject]);
        if (user?.enabled !== true) return refuse("user_disabled", USER_ENABLED.name);
        const paused = await hasRow(tx, SQL.agentPaused, [grant.clientId, user.id]);
        return paused ? refuse("agent_paused", NOT_PAUSED.name) : refuse("client_disabled", "client_enabled");
      }
      if (!(await consume(tx, "identity_assertion", identity.issuer, identity.jti, identity.remember)))
        return refuse("assertion_replayed", ASSERTION_UNUSED.name);
      return userId;
    }),
});
