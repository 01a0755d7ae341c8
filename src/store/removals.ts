import { insertAudit } from "./audit-log.ts";
import { storageUnavailable } from "./availability.ts";
import { type Removal, removeBatch } from "./removal-steps.ts";
import { hasRow, type Sql, statements, type Tx } from "./sql.ts";
import { REMOVALS, type RemovalKind } from "./tables/records.ts";
import { type RowOf, without } from "./tables/table.ts";

/** Above every epoch: all rows of a deleted client or user are removed. */
export const EVERY_EPOCH = 2_147_483_647;

const SQL = statements("removal", {
  pending: `select id::text from removals where $1::text[] is null or (kind = 'client_deleted' and key = any($1::text[])) order by id limit 100`,
  endUserEpoch: "update users set epoch = epoch + 1 where id = $1::uuid returning epoch",
  // A second removal of the same kind restarts at the first grant, with the later epoch.
  enqueue: `insert into removals (kind, key, epoch, after_client_id, after_id) values ($1, $2, $3::int, $4, $5::uuid)
   on conflict (kind, key) do update set epoch = greatest(removals.epoch, excluded.epoch), after_client_id = null, after_id = null`,
  take: `select ${REMOVALS.select(without(REMOVALS.members, ["createdAt"]))} from removals where id = $1::uuid for update skip locked`,
  goOn: "update removals set after_client_id = $2, after_id = $3::uuid, removed = $4::jsonb where id = $1::uuid",
  finish: `with finished as (delete from removals where id = $1::uuid returning kind, key),
   audited as (
     select jsonb_build_object(
       'event', case when kind like 'client%' then 'client.access_removed' else 'user.access_removed' end, 'outcome', 'success', 'reason', kind,
       'actor', jsonb_build_object('type', 'service', 'id', 'removal'), case when kind like 'client%' then 'clientId' else 'userId' end, key,
       'resources', (select jsonb_agg(name || ':' || count order by name) from jsonb_each_text($2::jsonb) as counts(name, count))) as audit
     from finished)
   ${insertAudit("audited")}`,
  isPending: "select 1 as one from removals where kind = any($1::text[]) and key = $2",
});

/** Leaves a removal to the background, which continues it. */
export const enqueueRemoval = (tx: Tx, { kind, key, epoch, afterClientId, afterId }: Removal): Promise<unknown> =>
  tx.query(SQL.enqueue, [kind, key, epoch, afterClientId, afterId]);

export const isRemovalPending = (tx: Tx, kinds: readonly RemovalKind[], key: string): Promise<boolean> =>
  hasRow(tx, SQL.isPending, [kinds, key]);

export const begun = (kind: RemovalKind, key: string, epoch: number): Removal => ({ kind, key, epoch, afterClientId: null, afterId: null });

/** Removes one batch of what this transaction disabled or deleted, and leaves the rest to the background. */
export async function beginRemoval(tx: Tx, kind: RemovalKind, key: string, epoch: number): Promise<void> {
  const { next } = await removeBatch(tx, begun(kind, key, epoch));
  if (next !== undefined) await enqueueRemoval(tx, next);
}

/**
 * Ends one batch of a user's sign-ins (or grants). The user's epoch deactivates any others on commit, also a session that another process
 * is storing and that no statement sees yet; the background removes them.
 */
export async function removeOfUser(tx: Tx, kind: "user_signed_out" | "user_disabled", userId: string): Promise<void> {
  const [user] = await tx.query<{ epoch: number }>(SQL.endUserEpoch, [userId]);
  if (user !== undefined) await beginRemoval(tx, kind, userId, user.epoch);
}

type RemovalRow = Omit<RowOf<typeof REMOVALS>, "createdAt">;

function sum(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const total = { ...one };
  for (const [name, count] of Object.entries(other)) total[name] = (total[name] ?? 0) + count;
  return total;
}

/** What one batch did; `rows` is how many it removed. */
export type RemovalProgress = { readonly kind: RemovalKind; readonly rows: number; readonly finished: boolean };

/** Ids of unfinished removals, oldest first. @param clientIds limits them to these deleted clients */
export const pendingRemovals = async (sql: Sql, clientIds?: readonly string[]): Promise<readonly string[]> =>
  (await sql.query<{ id: string }>(SQL.pending, [clientIds ?? null])).map(({ id }) => id);

/**
 * Runs one batch of a removal. It locks the removal's row until the commit, so that another process continues when this one dies.
 * @returns undefined when the removal is finished, or another process runs it
 */
export const continueRemoval = (sql: Sql, id: string): Promise<RemovalProgress | undefined> =>
  sql.transaction(async (tx) => {
    const [row] = await tx.query<RemovalRow>(SQL.take, [id]);
    if (row === undefined) return undefined;
    const { id: _, removed: before, ...removal } = row;
    const { removed, next } = await removeBatch(tx, removal);
    const total = JSON.stringify(sum(before, removed));
    if (next === undefined) await tx.query(SQL.finish, [id, total]);
    else await tx.query(SQL.goOn, [id, next.afterClientId, next.afterId, total]);
    const rows = Object.values(removed).reduce((all, count) => all + count, 0);
    return { kind: row.kind, rows, finished: next === undefined };
  });

/** Finishes the removal of deleted clients, so that their client_ids can be registered again. */
export async function finishRemovalOfClients(sql: Sql, clientIds: readonly string[]): Promise<void> {
  for (const id of await pendingRemovals(sql, clientIds)) while ((await continueRemoval(sql, id))?.finished === false);
}

/** @throws {Refusal} temporarily_unavailable while rows of a deleted client remain */
export async function assertRemoved(tx: Tx, clientId: string): Promise<void> {
  if (await isRemovalPending(tx, ["client_deleted"], clientId))
    throw storageUnavailable(new Error("the deleted client is still being removed"));
}
