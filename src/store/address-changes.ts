import type { AddressChange, AddressChanges } from "../accounts/change-ports.ts";
import { insertAudit, record } from "./audit-log.ts";
import { isUniqueViolation } from "./availability.ts";
import { withSession } from "./held-sessions.ts";
import { MAIL_INPUT, notifyUser, queueMail } from "./outbox.ts";
import { endSignIns } from "./session-revocation.ts";
import { deleteInOrder, firstRow, hasRow, hex, jsonRows, type Sql, statements, type Tx } from "./sql.ts";
import { ADDRESS_CHANGES } from "./tables/accounts.ts";
import { emailKey } from "./users.ts";

const CHANGE = ADDRESS_CHANGES.select(["userId", "email", "formerEmail"]);

/** Of an enabled user; the lock is that of the user alone. */
const found = (link: string): string => `from address_changes join users on users.id = user_id and users.enabled where ${link}`;
const PROOF = "token_hash = $1::bytea and confirmed_at is null and expires_at > now()";
const STOP = "stop_hash = $1::bytea and stop_until > now()";
const ADDED = "user_id = $1::uuid and created_at >= $2::timestamptz";
/** Other ways in that were added since the change was asked for, by the one who asked. In the lock order of what ends an account's proofs. */
const DROP_ADDED = statements("address", {
  dropWallet: `delete from credentials where ${ADDED} and type = 'wallet'`,
  dropPasskeys: deleteInOrder("passkeys", "id", ADDED),
  // An app counts from its confirmation on. The secret of one without is known to the user who began it.
  dropApps: "delete from authenticator_apps where user_id = $1::uuid and (confirmed_at is null or confirmed_at >= $2::timestamptz)",
  dropRecoveryCodes: deleteInOrder("recovery_codes", "code_hash", ADDED),
  dropIdentities: `delete from identity_links where ${ADDED}`,
});

const SQL = statements("address", {
  // A further request keeps the time of the first: the link to the former address removes what was added since then.
  changeRequest: `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       user_id uuid, email text, email_key text, token_hash text, stop_hash text, proof_ttl int, stop_ttl int, audit jsonb)),
   account as (
     select input.*, users.email as former_email from input join users on users.id = input.user_id and users.enabled
     where not exists (select 1 from users as other where other.email_key = input.email_key)),
   stored as (
     insert into address_changes (user_id, token_hash, stop_hash, email, former_email, expires_at, stop_until)
     select user_id, decode(token_hash, 'hex'), decode(stop_hash, 'hex'), email, former_email,
       now() + make_interval(secs => proof_ttl), now() + make_interval(secs => stop_ttl) from account
     on conflict (user_id) where confirmed_at is null do update set
       token_hash = excluded.token_hash, stop_hash = excluded.stop_hash, email = excluded.email, former_email = excluded.former_email,
       created_at = case when address_changes.stop_until > now() then address_changes.created_at else now() end,
       expires_at = excluded.expires_at, stop_until = excluded.stop_until
     returning user_id),
   mails as (
     select mail.*, account.user_id, case when mail.is_proof then account.email else account.former_email end as recipient
     from account join stored using (user_id), jsonb_to_recordset($2::jsonb) as mail(is_proof boolean, ${MAIL_INPUT}, ttl int)),
   queued as (${queueMail("mails", "notice")}),
   logged as (${insertAudit("account join stored using (user_id)")})
   select 1 as one from stored`,
  changeByProof: `select ${CHANGE} ${found(PROOF)}`,
  changeByStop: `select ${CHANGE} ${found(STOP)}`,
  // Locks the user before the link (docs/decisions/0014).
  changeHoldStop: `select users.id::text ${found(STOP)} for no key update of users`,
  changeConfirm: `update address_changes set confirmed_at = now() where ${PROOF} and user_id = $2::uuid
   returning ${CHANGE}, stop_hash is not null as "wasVerified"`,
  changeConsumeStop: `delete from address_changes where ${STOP} returning ${CHANGE}, created_at::text as since`,
  /** Changes that were asked for with the stopped one, or after it. */
  changeDrop: deleteInOrder("address_changes", "id", "user_id = $1::uuid"),
  set: "update users set email = $2, email_key = $3, email_verified = true, updated_at = now() where id = $1::uuid",
  dropReset: "delete from password_resets where user_id = $1::uuid",
  dropVerifications: deleteInOrder("verification_tokens", "token_hash", "user_id = $1::uuid"),
  dropPassword: "delete from credentials where user_id = $1::uuid and type = 'password'",
  dropMails: deleteInOrder("outbox", "id", "user_id = $1::uuid and about in ('verification', 'reset')"),
});

/** Undoes the transaction, so that the link stays unused, where another account has the address. */
const unlessTaken = <Outcome>(work: Promise<Outcome>): Promise<Outcome | "taken"> =>
  work.catch((error: unknown) => {
    if (isUniqueViolation(error)) return "taken" as const;
    throw error;
  });

/** Links that were mailed to the address before must not work any more. */
async function setAddress(tx: Tx, userId: string, email: string): Promise<void> {
  await tx.query(SQL.set, [userId, email, emailKey(email)]);
  await tx.query(SQL.dropReset, [userId]);
  await tx.query(SQL.dropVerifications, [userId]);
}

export const addressChanges = (sql: Sql): AddressChanges => ({
  request: ({ session, email, proof, stop }, audit) => {
    const row = {
      user_id: session.userId,
      email,
      email_key: emailKey(email),
      token_hash: hex(proof.tokenHash),
      stop_hash: stop && hex(stop.tokenHash),
      proof_ttl: proof.ttl,
      stop_ttl: stop?.ttl ?? proof.ttl,
      audit,
    };
    const mails = [
      { ...proof.mail, is_proof: true, ttl: proof.ttl },
      ...(stop === undefined ? [] : [{ ...stop.mail, is_proof: false, ttl: stop.ttl }]),
    ];
    return withSession(sql, session, (tx) => hasRow(tx, SQL.changeRequest, [jsonRows([row]), jsonRows(mails)]));
  },
  byProof: (tokenHash) => firstRow<AddressChange>(sql, SQL.changeByProof, [tokenHash]),
  confirm: (tokenHash, session, mail, audit) =>
    unlessTaken(
      withSession(sql, session, async (tx) => {
        const { userId } = session;
        const [change] = await tx.query<AddressChange & { readonly wasVerified: boolean }>(SQL.changeConfirm, [tokenHash, userId]);
        if (change === undefined) return undefined;
        await setAddress(tx, userId, change.email);
        await tx.query(SQL.dropMails, [userId]);
        if (change.wasVerified) await notifyUser(tx, userId, mail, change.formerEmail);
        await record(tx, audit);
        return "changed" as const;
      }),
    ),
  byStop: (tokenHash) => firstRow<AddressChange>(sql, SQL.changeByStop, [tokenHash]),
  stop: (tokenHash, audit) =>
    unlessTaken(
      sql.transaction(async (tx) => {
        await tx.query(SQL.changeHoldStop, [tokenHash]);
        const [stopped] = await tx.query<AddressChange & { readonly since: string }>(SQL.changeConsumeStop, [tokenHash]);
        if (stopped === undefined) return undefined;
        const { since, ...change } = stopped;
        const { userId, formerEmail } = change;
        await tx.query(SQL.changeDrop, [userId]);
        await setAddress(tx, userId, formerEmail);
        await tx.query(SQL.dropPassword, [userId]);
        for (const each of Object.values(DROP_ADDED)) await tx.query(each, [userId, since]);
        await endSignIns(tx, userId);
        await tx.query(SQL.dropMails, [userId]);
        await record(tx, audit);
        return change;
      }),
    ),
});
