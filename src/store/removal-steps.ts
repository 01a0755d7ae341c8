import { type Statement, statement, type Tx } from "./sql.ts";
import type { REMOVALS, RemovalKind } from "./tables/records.ts";
import type { RowOf } from "./tables/table.ts";

/** The most rows of one step, well within the deadline of a statement, so that no one is blocked for long. */
export const REMOVAL_BATCH = 500;

/** Rows of a client (`key`: its client_id) or user (its id) to be removed: those of an earlier epoch than `epoch`. */
export type Removal = Omit<RowOf<typeof REMOVALS>, "id" | "removed" | "createdAt">;

/** Removed rows by kind, and the removal as the next batch continues it; undefined when nothing is left. */
export type RemovalBatch = { readonly removed: Readonly<Record<string, number>>; readonly next: Removal | undefined };

/** Repeated until it deletes fewer rows than a batch. Parameters: key, epoch. */
type Deletion = { readonly name: string; readonly statement: Statement };

const counted = (of: "client" | "user", name: string, effect: string): Deletion => ({
  name,
  statement: statement(`removal_${of}_${name}`, `with gone as (${effect} returning 1) select count(*)::int as n from gone`),
});

const deletion = (of: "client" | "user", name: string, table: string, key: string, which: string): Deletion =>
  counted(
    of,
    name,
    `delete from ${table} where ${key} = any(array(
       select ${key} from ${table} where ${which} and $2::int is not null order by ${key} limit ${REMOVAL_BATCH} for update))`,
  );

// Redeeming a code locks it until its grant is stored: this waits for it, and the pages of grants that follow see the grant.
const CLIENT_CODES = deletion(
  "client",
  "codes",
  "authorization_codes",
  "code_hash",
  "client_id = $1 and client_epoch < $2::int and grant_id is null and expires_at > now()",
);
const ofUser = (name: string, table: string, key: string, which = "user_id = $1::uuid"): Deletion =>
  deletion("user", name, table, key, which);
const USER_CODES = ofUser("codes", "authorization_codes", "code_hash", "user_id = $1::uuid and user_epoch < $2::int and grant_id is null");
const CLIENT_CONSENTS = deletion("client", "consents", "consents", "id", "client_id = $1");
/** Rows with an id that are ended, and stay. */
const ending = (of: "client" | "user", name: string, end: string, which: string, order = "id"): Deletion =>
  counted(
    of,
    name,
    `update ${name} set ${end} = now() where id = any(array(
       select id from ${name} where ${which} and ${end} is null order by ${order} limit ${REMOVAL_BATCH} for no key update))`,
  );
const USER_SESSIONS = ending("user", "sessions", "ended_at", "user_id = $1::uuid and user_epoch < $2::int");
// What the client held of users as an agent: a client that gets its client_id later inherits none of it.
const CLIENT_DELEGATIONS = ending("client", "delegations", "cut_at", "actor = $1 and $2::int is not null and expires_at > now()", "path");

/**
 * All rows of a deleted user, from leaves to root, so that no foreign key deletes uncounted rows. Sessions end first: clients are notified of
 * that (migration 0007), not of a deletion.
 */
const OF_DELETED_USER: readonly Deletion[] = [
  USER_SESSIONS,
  USER_CODES,
  ofUser(
    "delegations",
    "delegations",
    "id",
    "user_id = $1::uuid and not exists (select 1 from delegations child where child.parent_id = delegations.id)",
  ),
  ofUser(
    "refresh_tokens",
    "refresh_tokens",
    "token_hash",
    `token_hash in (
       select used.token_hash from grants join refresh_families family on family.grant_id = grants.id
         join refresh_tokens used on used.family_id = family.id where grants.user_id = $1::uuid limit ${REMOVAL_BATCH})`,
  ),
  ofUser(
    "families",
    "refresh_families",
    "id",
    `id in (select family.id from grants join refresh_families family on family.grant_id = grants.id where grants.user_id = $1::uuid limit ${REMOVAL_BATCH})`,
  ),
  ofUser("used_codes", "authorization_codes", "code_hash"),
  ofUser("grants", "grants", "id"),
  ofUser("all_sessions", "sessions", "id"),
  ofUser("consents", "consents", "id"),
  ofUser("mails", "outbox", "id"),
];
// Foreign keys delete all other rows of the user. A trigger writes the revocation event (migration 0001).
const DELETE_USER = statement("removal_user", "delete from users where id = $1::uuid");

/**
 * The next page of grants. Those of an earlier epoch are revoked or signed out (`end`), or unchanged (null: access tokens become valid
 * again with their client); their refresh families are revoked in any case. Locks grants before families, both in the order of ids
 * (docs/decisions/0014). Parameters: key, epoch, client_id and id of the last grant of the page before.
 */
const grantPage = (name: string, of: "client" | "user", end: "revoked_at" | "signed_out_at" | null): Statement => {
  const still = end === null ? "true" : `grants.revoked_at is null${end === "signed_out_at" ? " and grants.signed_out_at is null" : ""}`;
  return statement(
    name,
    `with page as materialized (
       select id, client_id, ${of}_epoch as epoch from grants
       where ${of === "client" ? "client_id = $1" : "user_id = $1::uuid"}
         and (client_id, id) > (coalesce($3::text, ''), coalesce($4::uuid, '00000000-0000-0000-0000-000000000000'))
       order by client_id, id limit ${REMOVAL_BATCH}),
     ending as materialized (
       select id from grants where id = any(array(select id from page where epoch < $2::int)) and ${still} order by id for no key update),
     ${
       end === null
         ? ""
         : `ended as (
       update grants set ${end} = now() from ending where grants.id = any(array(select id from ending)) and grants.id = ending.id
       returning 1),`
     }
     locked as materialized (
       select id from refresh_families where grant_id = any(array(select id from ending)) and revoked_at is null order by id for no key update),
     families as (update refresh_families set revoked_at = now() where id = any(array(select id from locked)) returning 1)
     select (select count(*) from page)::int as seen, ${end === null ? "0" : "(select count(*) from ended)::int"} as grants,
       (select count(*) from families)::int as families, last.client_id as "afterClientId", last.id::text as "afterId"
     from (select 1) as one left join (select client_id, id from page order by client_id desc, id desc limit 1) as last on true`,
  );
};

type Page = Pick<Removal, "afterClientId" | "afterId"> & Readonly<Record<"seen" | "grants" | "families", number>>;
/** `cut`: after the grants, whose locks come first. */
type Plan = { readonly deletions: readonly Deletion[]; readonly grants?: Statement; readonly cut?: Deletion; readonly last?: Statement };

const PLANS: Readonly<Record<RemovalKind, Plan>> = {
  client_disabled: { deletions: [CLIENT_CODES], grants: grantPage("removal_client_disabled_grants", "client", null) },
  client_deleted: {
    deletions: [CLIENT_CONSENTS, CLIENT_CODES],
    grants: grantPage("removal_client_deleted_grants", "client", "revoked_at"),
    cut: CLIENT_DELEGATIONS,
  },
  user_signed_out: { deletions: [USER_SESSIONS, USER_CODES], grants: grantPage("removal_user_signed_out_grants", "user", "signed_out_at") },
  user_disabled: { deletions: [USER_SESSIONS, USER_CODES], grants: grantPage("removal_user_disabled_grants", "user", "revoked_at") },
  user_deleted: { deletions: OF_DELETED_USER, last: DELETE_USER },
};

async function grantsOf(tx: Tx, removal: Removal, page: Statement): Promise<RemovalBatch> {
  const { key, epoch, afterClientId, afterId } = removal;
  const [row] = await tx.query<Page>(page, [key, epoch, afterClientId, afterId]);
  if (row === undefined) throw new Error("a page of grants has one row");
  const { seen, grants, families, ...last } = row;
  return { removed: { grants, families }, next: seen < REMOVAL_BATCH ? undefined : { ...removal, ...last } };
}

export async function removeBatch(tx: Tx, removal: Removal): Promise<RemovalBatch> {
  const { deletions, grants, cut, last } = PLANS[removal.kind];
  const removed: Record<string, number> = {};
  const isDone = async ({ name, statement: step }: Deletion): Promise<boolean> => {
    const [row] = await tx.query<{ n: number }>(step, [removal.key, removal.epoch]);
    removed[name] = row?.n ?? 0;
    return row?.n !== REMOVAL_BATCH;
  };
  for (const one of deletions) if (!(await isDone(one))) return { removed, next: removal };
  const page = grants && (await grantsOf(tx, removal, grants));
  Object.assign(removed, page?.removed);
  if (page?.next !== undefined) return { removed, next: page.next };
  if (cut !== undefined && !(await isDone(cut))) return { removed, next: removal };
  if (last !== undefined) await tx.query(last, [removal.key]);
  return { removed, next: undefined };
}
