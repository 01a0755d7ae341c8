import { isUuid } from "../identifier.ts";
import { asSecretHash, type SecretHash } from "../secret.ts";
import type { Completion, LinkedWallets, LinkState, WalletLink, WalletLinks } from "../wallet/ports.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { deleteInOrder, jsonRows, preciseSeconds, type Sql, seconds, statement } from "./sql.ts";

/** Links that are kept of one user, whatever their state; an older one gives way. */
const KEPT = 16;

const given = (parameter: number) => `(select value as audit from jsonb_array_elements($${parameter}::jsonb)) as given`;

// Starts of one user come one after the other, so that each sees the links of the one before.
const HOLD_USER = statement("wallet_link_hold_user", "select 1 as one from users where id = $1::uuid for no key update");
const DROP_OLDER = statement(
  "wallet_link_drop_older",
  deleteInOrder(
    "wallet_links",
    "handle_hash",
    `handle_hash in (select handle_hash from wallet_links where user_id = $1::uuid order by created_at desc, handle_hash offset ${KEPT - 1})`,
  ),
);
const START = statement(
  "wallet_link_start",
  `with logged as (${insertAudit(given(7))})
   insert into wallet_links (handle_hash, state_hash, user_id, session_id, same_device, expires_at)
   values ($1::bytea, $2::bytea, $3::uuid, $4::uuid, $5::boolean, now() + make_interval(secs => $6::int))
   returning ${seconds("expires_at")} as expires_at`,
);

interface LinkColumns {
  readonly handle_hash: Uint8Array;
  readonly user_id: string;
  readonly session_id: string;
  readonly state: LinkState;
  readonly reason: string | null;
  readonly over: boolean;
  readonly expires_at: number;
  readonly same_device: boolean;
  readonly return_hash: Uint8Array | null;
}

const columns = `handle_hash, user_id::text, session_id::text, state, reason, expires_at <= now() as over,
  ${seconds("expires_at")} as expires_at, same_device, return_hash`;
const BY_HANDLE = statement("wallet_link_by_handle", `select ${columns} from wallet_links where handle_hash = $1::bytea`);
const BY_RETURN = statement("wallet_link_by_return", `select ${columns} from wallet_links where return_hash = $1::bytea`);

const UNANSWERED = statement(
  "wallet_link_unanswered",
  `select ${seconds("expires_at")} as expires_at from wallet_links where state_hash = $1::bytea and state = 'pending' and expires_at > now()`,
);
const ANSWER = statement(
  "wallet_link_answer",
  `update wallet_links set state = 'answered' where state_hash = $1::bytea and state = 'pending' and expires_at > now()
   returning user_id::text, same_device`,
);
const PRESENT = statement(
  "wallet_link_present",
  `update wallet_links set state = 'presented', issuer = $2, subject = $3, return_hash = $4::bytea
   where state_hash = $1::bytea and state = 'answered'`,
);
const REJECT = statement(
  "wallet_link_reject",
  `with rejected as (
     update wallet_links set state = 'rejected', reason = $2, return_hash = $3::bytea where state_hash = $1::bytea and state = 'answered' returning 1),
   logged as (${insertAudit(`rejected, ${given(4)}`)})
   select 1 as one from rejected`,
);
const EXPIRE = statement(
  "wallet_link_expire",
  `with expired as (
     update wallet_links set state = 'expired', reason = 'link_expired', issuer = null, subject = null
     where handle_hash = $1::bytea and state in ('pending', 'answered', 'presented') and expires_at <= now() returning 1),
   logged as (${insertAudit(`expired, ${given(2)}`)})
   select 1 as one from expired`,
);

interface PresentedColumns {
  readonly user_id: string;
  readonly issuer: string;
  readonly subject: string;
}

// Whoever holds the row is the one who completes. What others have written meanwhile is seen by the statements that follow, not within one.
const HOLD = statement(
  "wallet_link_hold",
  `select user_id::text, issuer, subject from wallet_links
   where handle_hash = $1::bytea and state = 'presented' and expires_at > now() for update`,
);
const ADD = statement(
  "wallet_credential_add",
  `insert into credentials (user_id, type, issuer, subject) values ($1::uuid, 'wallet', $2, $3) on conflict do nothing returning 1 as added`,
);
const OWNER = statement(
  "wallet_credential_owner",
  "select user_id::text from credentials where type = 'wallet' and issuer = $1 and subject = $2",
);
const DECIDE = statement(
  "wallet_link_decide",
  `with decided as (
     update wallet_links set state = $2, reason = $3, issuer = null, subject = null where handle_hash = $1::bytea),
   logged as (${insertAudit(given(4))})
   select 1 as one`,
);

const OF_USER = statement(
  "wallet_credential_of_user",
  `select issuer, ${preciseSeconds("created_at")} as linked_at from credentials where user_id = $1::uuid and type = 'wallet'`,
);
const UNLINK = statement(
  "wallet_credential_remove",
  `with removed as (delete from credentials where user_id = $1::uuid and type = 'wallet' returning 1),
   logged as (${insertAudit(`removed, ${given(2)}`)})
   select 1 as one from removed`,
);

const only = ([row]: readonly LinkColumns[]): WalletLink | undefined =>
  row && {
    handleHash: asSecretHash(row.handle_hash),
    userId: row.user_id,
    sessionId: row.session_id,
    state: row.state,
    reason: row.reason ?? undefined,
    expired: row.over,
    expiresAt: row.expires_at,
    sameDevice: row.same_device,
    returnHash: row.return_hash === null ? undefined : asSecretHash(row.return_hash),
  };

async function addCredential(tx: Pick<Sql, "query">, { user_id, issuer, subject }: PresentedColumns): Promise<Completion> {
  if ((await tx.query(ADD, [user_id, issuer, subject])).length === 1) return { state: "linked" };
  const [owner] = await tx.query<{ user_id: string }>(OWNER, [issuer, subject]);
  if (owner?.user_id === user_id) return { state: "linked" };
  return { state: "conflict", reason: owner === undefined ? "account_has_wallet" : "identity_of_another" };
}

const entry = (audit: Parameters<typeof auditRow>[0]): string => jsonRows([auditRow(audit)]);

export const walletLinks = (sql: Sql): WalletLinks => ({
  start: ({ handleHash, stateHash, userId, sessionId, sameDevice, ttl }, audit) =>
    sql.transaction(async (tx) => {
      if ((await tx.query(HOLD_USER, [userId])).length === 0) return 0; // the account has just been deleted
      await tx.query(DROP_OLDER, [userId]);
      const [row] = await tx.query<{ expires_at: number }>(START, [
        handleHash,
        stateHash,
        userId,
        sessionId,
        sameDevice,
        ttl,
        entry(audit),
      ]);
      return row?.expires_at ?? 0;
    }),
  byHandle: async (handleHash) => only(await sql.query<LinkColumns>(BY_HANDLE, [handleHash])),
  byReturn: async (returnHash) => only(await sql.query<LinkColumns>(BY_RETURN, [returnHash])),
  unanswered: async (stateHash) => (await sql.query<{ expires_at: number }>(UNANSWERED, [stateHash]))[0]?.expires_at,
  answer: async (stateHash) => {
    const [row] = await sql.query<{ user_id: string; same_device: boolean }>(ANSWER, [stateHash]);
    return row && { userId: row.user_id, sameDevice: row.same_device };
  },
  present: async (stateHash, { issuer, subject }, returnHash) => {
    await sql.query(PRESENT, [stateHash, issuer, subject, returnHash ?? null]);
  },
  reject: async (stateHash, reason, returnHash, audit) => {
    await sql.query(REJECT, [stateHash, reason, returnHash ?? null, entry(audit)]);
  },
  complete: (handleHash: SecretHash, audit) =>
    sql.transaction(async (tx) => {
      const [presented] = await tx.query<PresentedColumns>(HOLD, [handleHash]);
      if (presented === undefined) return undefined;
      const completion = await addCredential(tx, presented);
      const reason = completion.state === "conflict" ? completion.reason : null;
      await tx.query(DECIDE, [handleHash, completion.state, reason, entry(audit(completion))]);
      return completion;
    }),
  expire: async (handleHash, audit) => {
    await sql.query(EXPIRE, [handleHash, entry(audit)]);
  },
});

export const linkedWallets = (sql: Sql): LinkedWallets => ({
  ofUser: async (userId) => {
    if (!isUuid(userId)) return undefined;
    const [row] = await sql.query<{ issuer: string; linked_at: number }>(OF_USER, [userId]);
    return row && { issuer: row.issuer, linkedAt: row.linked_at };
  },
  unlink: async (userId, audit) => isUuid(userId) && (await sql.query(UNLINK, [userId, entry(audit)])).length === 1,
});
