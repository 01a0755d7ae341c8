import type { Completion, LinkedWallet, LinkedWallets, WalletIdentity, WalletLink, WalletLinks } from "../wallet/ports.ts";
import { auditEach, entriesIn, insertAudit } from "./audit-log.ts";
import { holdSession, withSession } from "./held-sessions.ts";
import { deleteInOrder, execute, firstRow, hasRow, jsonRows, preciseSeconds, type Sql, statements, type Tx } from "./sql.ts";
import { CREDENTIALS, WALLET_LINKS } from "./tables/accounts.ts";
import type { RowOf } from "./tables/table.ts";

/** The most links kept of one user, in any state; the oldest is deleted. */
const KEPT = 16;

const LINK = ["handleHash", "userId", "sessionId", "state", "reason", "expiresAt", "sameDevice", "returnHash"] as const;
const link = `${WALLET_LINKS.select(LINK)}, expires_at <= now() as expired`;

type Presented = WalletIdentity & Pick<WalletLink, "userId" | "sessionId">;

const SQL = statements("wallet", {
  // Locks the user, so that each start sees earlier links.
  linkHoldUser: "select 1 as one from users where id = $1::uuid and deleted_at is null for no key update",
  linkDropOlder: deleteInOrder(
    "wallet_links",
    "handle_hash",
    `handle_hash in (select handle_hash from wallet_links where user_id = $1::uuid order by created_at desc, handle_hash offset ${KEPT - 1})`,
  ),
  linkStart: `with logged as (${insertAudit(entriesIn("$7"))})
   insert into wallet_links (handle_hash, state_hash, user_id, session_id, same_device, expires_at)
   values ($1::bytea, $2::bytea, $3::uuid, $4::uuid, $5::boolean, now() + make_interval(secs => $6::int))
   returning ${WALLET_LINKS.select(["expiresAt"])}`,
  linkByHandle: `select ${link} from wallet_links where handle_hash = $1::bytea`,
  linkByReturn: `select ${link} from wallet_links where return_hash = $1::bytea`,
  linkUnanswered: `select ${WALLET_LINKS.select(["expiresAt"])} from wallet_links where state_hash = $1::bytea and state = 'pending' and expires_at > now()`,
  linkAnswer: `update wallet_links set state = 'answered' where state_hash = $1::bytea and state = 'pending' and expires_at > now()
   returning ${WALLET_LINKS.select(["userId", "sameDevice"])}`,
  linkPresent: `update wallet_links set state = 'presented', issuer = $2, subject = $3, return_hash = $4::bytea
   where state_hash = $1::bytea and state = 'answered'`,
  linkReject: `with rejected as (
     update wallet_links set state = 'rejected', reason = $2, return_hash = $3::bytea where state_hash = $1::bytea and state = 'answered' returning 1),
   logged as (${auditEach("rejected", "$4")})
   select 1 as one from rejected`,
  linkExpire: `with expired as (
     update wallet_links set state = 'expired', reason = 'link_expired', issuer = null, subject = null
     where handle_hash = $1::bytea and state in ('pending', 'answered', 'presented') and expires_at <= now() returning 1),
   logged as (${auditEach("expired", "$2")})
   select 1 as one from expired`,
  // Locks the user before the link (docs/decisions/0014).
  linkHoldOwner: `select 1 as one from wallet_links join users on users.id = user_id
   where handle_hash = $1::bytea and state = 'presented' for no key update of users`,
  // The caller that locks the row completes the link. Later statements see what others have written since; this one would not.
  linkHold: `select ${WALLET_LINKS.select(["userId", "sessionId", "issuer", "subject"])} from wallet_links
   where handle_hash = $1::bytea and state = 'presented' and expires_at > now() for update`,
  credentialAdd: `insert into credentials (user_id, type, issuer, subject) values ($1::uuid, 'wallet', $2, $3) on conflict do nothing returning 1 as added`,
  credentialOwner: `select ${CREDENTIALS.select(["userId"])} from credentials where type = 'wallet' and issuer = $1 and subject = $2`,
  linkDecide: `with decided as (
     update wallet_links set state = $2, reason = $3, issuer = null, subject = null where handle_hash = $1::bytea),
   logged as (${insertAudit(entriesIn("$4"))})
   select 1 as one`,
  credentialOfUser: `select issuer, ${preciseSeconds("created_at")} as "linkedAt" from credentials where user_id = $1::uuid and type = 'wallet'`,
  credentialRemove: `with removed as (delete from credentials where user_id = $1::uuid and type = 'wallet' returning 1),
   logged as (${auditEach("removed", "$2")})
   select 1 as one from removed`,
});

type LinkRow = Pick<RowOf<typeof WALLET_LINKS>, (typeof LINK)[number]> & Pick<WalletLink, "expired">;

const linkOf = (row: LinkRow | undefined): WalletLink | undefined =>
  row && { ...row, reason: row.reason ?? undefined, returnHash: row.returnHash ?? undefined };

async function addCredential(tx: Tx, { userId, issuer, subject }: Presented): Promise<Completion> {
  if (await hasRow(tx, SQL.credentialAdd, [userId, issuer, subject])) return { state: "linked" };
  const [owner] = await tx.query<{ userId: string }>(SQL.credentialOwner, [issuer, subject]);
  if (owner?.userId === userId) return { state: "linked" };
  return { state: "conflict", reason: owner === undefined ? "account_has_wallet" : "identity_of_another" };
}

export const walletLinks = (sql: Sql): WalletLinks => ({
  start: ({ handleHash, stateHash, userId, sessionId, sameDevice, ttl }, audit) =>
    sql.transaction(async (tx) => {
      if (!(await hasRow(tx, SQL.linkHoldUser, [userId]))) return 0; // the account was just deleted
      await tx.query(SQL.linkDropOlder, [userId]);
      const parameters = [handleHash, stateHash, userId, sessionId, sameDevice, ttl, jsonRows([audit])];
      const [row] = await tx.query<{ expiresAt: number }>(SQL.linkStart, parameters);
      return row?.expiresAt ?? 0;
    }),
  byHandle: async (handleHash) => linkOf(await firstRow<LinkRow>(sql, SQL.linkByHandle, [handleHash])),
  byReturn: async (returnHash) => linkOf(await firstRow<LinkRow>(sql, SQL.linkByReturn, [returnHash])),
  unanswered: async (stateHash) => (await firstRow<{ expiresAt: number }>(sql, SQL.linkUnanswered, [stateHash]))?.expiresAt,
  answer: (stateHash) => firstRow<{ userId: string; sameDevice: boolean }>(sql, SQL.linkAnswer, [stateHash]),
  present: (stateHash, { issuer, subject }, returnHash) => execute(sql, SQL.linkPresent, [stateHash, issuer, subject, returnHash ?? null]),
  reject: (stateHash, reason, returnHash, audit) =>
    execute(sql, SQL.linkReject, [stateHash, reason, returnHash ?? null, jsonRows([audit])]),
  complete: (handleHash, audit) =>
    sql.transaction(async (tx) => {
      await tx.query(SQL.linkHoldOwner, [handleHash]);
      const [presented] = await tx.query<Presented>(SQL.linkHold, [handleHash]);
      if (presented === undefined) return undefined;
      const completion = await addCredential(tx, presented);
      await holdSession(tx, { id: presented.sessionId, userId: presented.userId });
      const reason = completion.state === "conflict" ? completion.reason : null;
      await tx.query(SQL.linkDecide, [handleHash, completion.state, reason, jsonRows([audit(completion)])]);
      return completion;
    }),
  expire: (handleHash, audit) => execute(sql, SQL.linkExpire, [handleHash, jsonRows([audit])]),
});

export const linkedWallets = (sql: Sql): LinkedWallets => ({
  ofUser: (userId) => firstRow<LinkedWallet>(sql, SQL.credentialOfUser, [userId]),
  unlink: ({ id, userId }, audit) =>
    withSession(sql, { id, userId }, (tx) => hasRow(tx, SQL.credentialRemove, [userId, jsonRows([audit])])),
});
