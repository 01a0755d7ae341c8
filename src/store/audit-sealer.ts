import { type CheckpointSigner, GENESIS, type Link, linkAll, type SealedRecord, signCheckpoint } from "../audit-chain/chain.ts";
import { GRANTS } from "../protocol/grants.ts";
import { hashText, sealable, sealedOf } from "./audit-log.ts";
import { countRecords } from "./figures.ts";
import { countResourceRefusals } from "./resource-refusals.ts";
import { amongKeys, jsonRows, readRows, type Sql, statements, unindexedText } from "./sql.ts";

/** Records sealed in one transaction; few on the embedded database, whose one connection it holds. */
export const SEAL_BATCH = { embedded: 50, postgresql: 500 } as const;
/** The most records of one call of `seal`, so that it ends soon even after a long pause. */
const TURN = 5_000;
/** A checkpoint is due after so many records, or so many seconds after the last one. */
const CHECKPOINT = { records: 1_000, seconds: 5 } as const;

interface ChainState {
  readonly waiting: boolean;
  readonly seq: number;
  readonly hash: string;
  /** Of the last checkpoint; 0 and null: there is none. */
  readonly signed: number;
  readonly signedHash: string | null;
  readonly signedAgo: number | null;
  readonly now: number;
}

export const SEAL_LOCK = 7_235_107_483;

/** Events of a client's last use. */
export const USES: readonly unknown[] = ["token.issued", "identity_assertion.issued"];
/** How much later a use of a client or consent must be than the one before to be noted. */
export const NOTED_EVERY = "interval '1 minute'";

const SQL = statements("audit", {
  sealState: `select exists (select 1 from audit_links where seq is null) as waiting,
     coalesce(head.seq, 0)::float8 as seq, coalesce(${hashText("head.hash")}, '') as hash,
     coalesce(signed.seq, 0)::float8 as signed, ${hashText("signed.hash")} as "signedHash",
     extract(epoch from now() - signed.at)::float8 as "signedAgo", floor(extract(epoch from now()))::float8 as now
   from (select 1) as one
     left join (select seq, hash from audit_links where seq is not null order by seq desc limit 1) as head on true
     left join (select seq, hash, at from audit_checkpoints order by seq desc limit 1) as signed on true`,
  // Each record is found by its id, also while the statistics are of an empty table.
  unsealed: `select coalesce(json_agg(rows), '[]')::text as rows from (
     select r.id, ${sealable("r", "to_json")}
     from (select id from audit_links where seq is null order by id limit $1::int) as waiting
       cross join lateral (select * from audit_records where audit_records.id = waiting.id offset 0) as r
     order by r.id) as rows`,
  seal: `with sealed as (select * from jsonb_to_recordset($1::jsonb) as i(id uuid, seq bigint, hash text))
   update audit_links set seq = sealed.seq, hash = decode(translate(sealed.hash, '-_', '+/') || '=', 'base64')
   from sealed where ${amongKeys("audit_links.id", "id", "sealed")} and audit_links.id = sealed.id and audit_links.seq is null
     and audit_links.id between $2::uuid and $3::uuid`, // so that only the partitions of these ids are read
  // Skips rows that others have locked, and waits for no one. In the transaction of the seal, because a client that registered itself and was
  // never used is deleted after a day.
  used: `with used as (select * from jsonb_to_recordset($1::jsonb) as i(client_id text, user_id uuid, at float8)),
   clients_used as (
     update clients set last_used_at = due.at from (
       select clients.id, last.at from (select client_id, to_timestamp(max(at)) as at from used group by client_id) as last join clients using (client_id)
       where ${amongKeys("clients.client_id", "client_id", "used")} and coalesce(last_used_at < last.at - ${NOTED_EVERY}, true)
       for no key update of clients skip locked) as due where clients.id = due.id)
   update consents set last_used_at = due.at from (
     select consents.id, to_timestamp(used.at) as at
     from used join consents on consents.user_id = used.user_id and ${unindexedText("consents.client_id")} = used.client_id
     where ${amongKeys("consents.user_id", "user_id", "used")} and coalesce(last_used_at < to_timestamp(used.at) - ${NOTED_EVERY}, true)
     for no key update of consents skip locked) as due where consents.id = due.id`,
  checkpoint: `insert into audit_checkpoints (seq, hash, kid, jws)
   values ($1::float8::bigint, decode(translate($2::text, '-_', '+/') || '=', 'base64'), $3::text, $4::text) on conflict (seq) do nothing`,
  sealLock: "select pg_try_advisory_xact_lock($1::float8::bigint) as taken",
});

/** The link that the next record follows. A checkpoint beyond the last record shows that records were removed: no number is reused. */
function headOf({ seq, hash, signed, signedHash }: ChainState): Link {
  if (signedHash !== null && signed > seq) return { seq: signed, hash: signedHash };
  return seq === 0 ? GENESIS : { seq, hash };
}

function checkpointIsDue({ signed, signedAgo }: ChainState, { seq }: Link): boolean {
  return seq > signed && (signedAgo === null || seq - signed >= CHECKPOINT.records || signedAgo >= CHECKPOINT.seconds);
}

type SealedRow = { readonly id: string; readonly record: SealedRecord; readonly at: number };

/** The clients that got tokens, each with the users who got them through it, and when they last did. */
function usesIn(rows: readonly SealedRow[]): readonly object[] {
  const uses = new Map<string, object>();
  for (const { record, at } of rows) {
    const { event, client_id, actor_type, grant_type, user_id } = record;
    if (client_id === null || !USES.includes(event)) continue;
    const user = actor_type === "user" || grant_type === GRANTS.refreshToken.grantType ? user_id : null;
    uses.set(`${user} ${client_id}`, { client_id, user_id: user, at: at / 1e6 });
  }
  return [...uses.values()];
}

/**
 * Numbers records after they were written, chains them, and signs the head of the chain. Of several processes one seals; the calls of the
 * others return. A batch is one transaction, so that another process can continue when this one dies.
 * @param signer undefined in a process without private keys, which seals but does not sign
 * @param size the most records of a batch
 */
export function auditSealer(sql: Sql, signer: CheckpointSigner | undefined, size: number = SEAL_BATCH.embedded) {
  const batch = (): Promise<number> =>
    sql.transaction(async (tx) => {
      const [lock] = await tx.query<{ taken: boolean }>(SQL.sealLock, [SEAL_LOCK]);
      if (lock?.taken !== true) return 0;
      // Read under the lock, so that no other process moves the head.
      const [state] = await tx.query<ChainState>(SQL.sealState, []);
      if (state === undefined) return 0;
      let head = headOf(state);
      const rows = state.waiting ? await readRows<SealedRow>(tx, SQL.unsealed, [size]) : [];
      const links = linkAll(head, rows.map(sealedOf));
      if (links.length > 0) {
        const seals = links.map(({ seq, hash }, index) => ({ id: rows[index]?.id, seq, hash }));
        await tx.query(SQL.seal, [jsonRows(seals), seals[0]?.id ?? null, seals.at(-1)?.id ?? null]);
        const counted = rows.map(({ id, record: { event, resources } }) => ({ id, event, resources }));
        await countRecords(tx, counted);
        await countResourceRefusals(tx, counted);
      }
      head = links.at(-1) ?? head;
      if (signer !== undefined && checkpointIsDue(state, head)) {
        const { seq, kid, jws } = signCheckpoint(head, state.now, signer);
        await tx.query(SQL.checkpoint, [seq, head.hash, kid, jws]);
      }
      const uses = usesIn(rows);
      if (uses.length > 0) await tx.query(SQL.used, [jsonRows(uses)]);
      return rows.length;
    });

  return {
    /** Runs one cheap query when there is nothing to do. @returns how many records were sealed */
    async seal(): Promise<number> {
      const [state] = await sql.query<ChainState>(SQL.sealState, []);
      if (state === undefined) return 0;
      if (!state.waiting && !(signer !== undefined && checkpointIsDue(state, headOf(state)))) return 0;
      let sealed = 0;
      while (sealed < TURN) {
        const count = await batch();
        sealed += count;
        if (count < size) break;
      }
      return sealed;
    },
  };
}
