import type { AuditEvent } from "../audit.ts";
import type { AssertedIdentity, IdentityAssertions } from "../core/grants/jwt-bearer/ports.ts";
import { ASSERTION_UNUSED, USER_ENABLED } from "../core/grants/jwt-bearer/rules.ts";
import { Refusal } from "../errors.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { consume, isConsumed } from "./consumed-ids.ts";
import { clientStands } from "./document-client.ts";
import { clientEpoch, GRANT_INPUT, grantRow, openGrants, touchClients } from "./grant-rows.ts";
import { isStorable, jsonRows, type Sql, statement } from "./sql.ts";
import { emailKey } from "./user-rows.ts";

type Tx = Pick<Sql, "query">;
interface Person {
  readonly id: string;
  readonly enabled: boolean;
}

const LINKED = statement(
  "identity_linked",
  `select users.id::text, users.enabled from identity_links join users on users.id = identity_links.user_id where issuer = $1 and subject = $2`,
);

const BY_VERIFIED_EMAIL = statement(
  "identity_by_email",
  `select id::text, enabled from users where email_key = $1 and email_verified and realm_id = $2::uuid`,
);

/** Whoever comes second waits here for the first, and then finds the link. */
const LINK = statement(
  "identity_link",
  `with linked as (
     insert into identity_links (issuer, subject, user_id) values ($1, $2, $3::uuid) on conflict (issuer, subject) do nothing returning user_id::text),
   logged as (
     insert into audit_records (event, outcome, actor_type, actor_id, user_id)
     select event, 'success', 'service', 'identity-assertion', user_id from linked, unnest($4::text[]) as event)
   select 1 as linked from linked`,
);

// The address is one that nobody can have: what another issuer says of an address makes no account of ours that bears it.
const ADD = statement("identity_add_user", `insert into users (id, realm_id, email, email_key) values ($1::uuid, $2::uuid, $3, $3)`);

const DROP = statement("identity_drop_user", "delete from users where id = $1::uuid");

const OPEN = statement(
  "identity_open",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(${GRANT_INPUT}, audit jsonb)),
   good as (
     select input.*, null::jsonb as document_client, users.epoch as user_epoch, ${clientEpoch("input.client_id")} as client_epoch
     from input join users on users.id = input.user_id where ${clientStands("input.client_id", "null::jsonb")}),
   ${openGrants("good")},
   ${touchClients("good")},
   logged as (${insertAudit("good")})
   select 1 as opened from good`,
);

/** Undoes the transaction that it is thrown in. */
const refuse = (reason: string, rule: string): never => {
  throw new Refusal("invalid_grant", reason, { rule });
};

async function ownerOf(tx: Tx, verifiedEmail: string | undefined, realmId: string): Promise<Person | undefined> {
  if (verifiedEmail === undefined || !isStorable(verifiedEmail)) return undefined;
  return (await tx.query<Person>(BY_VERIFIED_EMAIL, [emailKey(verifiedEmail), realmId]))[0];
}

async function userOf(tx: Tx, identity: AssertedIdentity): Promise<Person | undefined> {
  const { issuer, subject, verifiedEmail, realmId, newUserId } = identity;
  const linked = async () => (await tx.query<Person>(LINKED, [issuer, subject]))[0];
  const known = await linked();
  if (known !== undefined) return known;
  const owner = await ownerOf(tx, verifiedEmail, realmId);
  if (owner === undefined) await tx.query(ADD, [newUserId, realmId, `${newUserId}@identity.invalid`]);
  const person = owner ?? { id: newUserId, enabled: true };
  const events: readonly AuditEvent[] = owner === undefined ? ["user.registered", "identity.linked"] : ["identity.linked"];
  if ((await tx.query(LINK, [issuer, subject, person.id, events])).length === 1) return person;
  if (owner === undefined) await tx.query(DROP, [newUserId]);
  return linked();
}

export const identityAssertions = (sql: Sql): IdentityAssertions => ({
  outlook: async ({ issuer, subject, verifiedEmail, realmId, jti }) => {
    const [known] = await sql.query<Person>(LINKED, [issuer, subject]);
    const person = known ?? (await ownerOf(sql, verifiedEmail, realmId));
    return { enabled: person?.enabled ?? true, used: await isConsumed(sql, "identity_assertion", issuer, jti) };
  },

  accept: (identity, grant, audit) =>
    sql.transaction(async (tx) => {
      const person = await userOf(tx, identity);
      if (person?.enabled !== true) return refuse("user_disabled", USER_ENABLED.name);
      const userId = person.id;
      const row = { ...grantRow({ ...grant, userId }, undefined), audit: auditRow({ ...audit, userId }) };
      if ((await tx.query(OPEN, [jsonRows([row])])).length === 0) return refuse("client_disabled", "client_enabled");
      if (!(await consume(tx, "identity_assertion", identity.issuer, identity.jti, identity.remember)))
        return refuse("assertion_replayed", ASSERTION_UNUSED.name);
      return userId;
    }),
});
