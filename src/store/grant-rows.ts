import type { NewFamily } from "../core/ports.ts";
import type { NewGrant } from "../core/user-grant.ts";
import { clientStands } from "./document-client.ts";
import { amongKeys, deleteInOrder, hex, type Json, unindexedText } from "./sql.ts";

/** The columns that grantRow fills, for jsonb_to_recordset. Lifetimes are seconds. */
export const GRANT_INPUT = `grant_id uuid, client_id text, user_id uuid, scopes text[], audience text[], auth_time float8,
  family_id uuid, token_hash text, ttl int, max_age int`;

export const grantRow = (grant: NewGrant, family: NewFamily | undefined): { readonly [member: string]: Json } => ({
  grant_id: grant.id,
  client_id: grant.clientId,
  user_id: grant.userId,
  scopes: grant.scopes,
  audience: grant.audience,
  auth_time: grant.authTime,
  family_id: family?.id,
  token_hash: family && hex(family.tokenHash),
  ttl: family?.ttl,
  max_age: family?.maxAge,
});

/**
 * Writing CTEs that open a grant, with its family if it has one, for each row of `source` (a CTE with the columns of GRANT_INPUT,
 * document_client, user_epoch and client_epoch).
 */
export const openGrants = (source: string): string =>
  `opened as (
     insert into grants (id, client_id, user_id, scopes, audience, auth_time, document_client, user_epoch, client_epoch)
     select grant_id, client_id, user_id, scopes, audience, to_timestamp(auth_time), document_client, user_epoch, client_epoch from ${source}),
   begun as (
     insert into refresh_families (id, grant_id, current_hash, expires_at, ends_at)
     select family_id, grant_id, decode(token_hash, 'hex'), now() + make_interval(secs => least(ttl, max_age)), now() + make_interval(secs => max_age)
     from ${source} where family_id is not null)`;

/**
 * A writing CTE that moves lastUsedAt of the clients named in `source`, at most once a minute each. A client that another transaction is
 * moving is left to it, so that nobody waits here.
 */
export const touchClients = (source: string): string =>
  `touched as (
     update clients set last_used_at = now() where id in (
       select id from clients where ${amongKeys("client_id", "client_id", source)}
         and (last_used_at is null or last_used_at < now() - interval '1 minute')
       for no key update skip locked))`;

/** Likewise for when the consents of the people and clients named in `source` were last used. */
export const touchConsents = (source: string): string =>
  `remembered as (
     update consents set last_used_at = now() where id in (
       select consents.id from consents
         join ${source} on consents.user_id = ${source}.user_id and ${unindexedText("consents.client_id")} = ${source}.client_id
       where ${amongKeys("consents.user_id", "user_id", source)}
         and (last_used_at is null or last_used_at < now() - interval '1 minute') for no key update of consents skip locked))`;

/** A statement that drops the codes for which `which` holds and of which nothing has come. One that is being redeemed is waited for. */
export const dropCodes = (which: string): string => deleteInOrder("authorization_codes", "code_hash", `${which} and grant_id is null`);

/** Likewise one that drops consents. */
export const dropConsents = (which: string): string => deleteInOrder("consents", "id", which);

/**
 * Writing CTEs that end the grants for which `which` holds, and their refresh families: for ever, or until the person signs in again.
 * Whoever ends both holds the grants first, and either in the order of their ids (docs/decisions/0014-locks-in-one-order.md).
 * `ended` has the columns id, user_id and client_id.
 */
export const endGrants = (which: string, end: "revoked_at" | "signed_out_at" = "revoked_at"): string =>
  `theirs as materialized (
     select id from grants where ${which} and revoked_at is null${end === "signed_out_at" ? " and signed_out_at is null" : ""}
     order by id for no key update),
   ended as (update grants set ${end} = now() from theirs where grants.id = theirs.id returning grants.id, user_id, client_id),
   held as materialized (
     select refresh_families.id from refresh_families join theirs on refresh_families.grant_id = theirs.id
     where refresh_families.revoked_at is null order by refresh_families.id for no key update of refresh_families),
   families as (update refresh_families set revoked_at = now() from held where refresh_families.id = held.id)`;

/** A grant whose user and client are enabled. @param grant a row of `grants` @param kept where its document_client is */
export const standsOn = (grant: string, kept = `${grant}.document_client`): string =>
  `exists (select 1 from users where users.id = ${grant}.user_id and users.enabled)
   and ${clientStands(`${grant}.client_id`, kept)}`;

/** Whether a user's sign-ins have ended since a row was written. @param row with user_id and user_epoch */
export const userEpochPassed = (row: string): string =>
  `exists (select 1 from users where users.id = ${row}.user_id and users.epoch <> ${row}.user_epoch)`;

/** Whether a client has been disabled since a row was written. @param row with client_id and client_epoch */
export const clientEpochPassed = (row: string): string =>
  `exists (select 1 from clients where clients.client_id = ${row}.client_id and clients.epoch <> ${row}.client_epoch)`;

/** The epoch of a client for a row that is written now; a client without a row of its own has none. @param clientId SQL expression */
export const clientEpoch = (clientId: string): string =>
  `coalesce((select clients.epoch from clients where clients.client_id = ${clientId}), 0)`;

/** The rows of a batch in the order of what they change, so that two batches of the same rows never wait for each other. */
export const inOrder = <Row, Key extends string>(rows: readonly (Row & { readonly [key in Key]: string })[], key: Key): readonly Row[] =>
  rows.toSorted((one, other) => (one[key] < other[key] ? -1 : 1));

/** From the numbers of the rows that won to a verdict for each row. */
export const verdicts = (rows: readonly unknown[], won: readonly { readonly n: number }[]): readonly boolean[] => {
  const numbers = new Set(won.map(({ n }) => n));
  return rows.map((_, n) => numbers.has(n));
};
