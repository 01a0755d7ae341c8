import type { NewFamily, NewGrant } from "../core/stored-grants.ts";
import { deleteInOrder, hex, type Json } from "./sql.ts";
import { GRANTS } from "./tables/grants.ts";

/**
 * Whether a client is enabled: a registered one by its row; one without a row because its document was valid at the time of the grant.
 * @param clientId SQL expression  @param stored SQL expression
 */
export const isClientEnabled = (clientId: string, stored: string): string =>
  `coalesce((select clients.enabled from clients where clients.client_id = ${clientId}), ${stored} is not null)`;

const NEW = ["clientId", "userId", "scopes", "audience", "authTime", "authentication"] as const;
const newRow = GRANTS.writer(NEW);

/** The columns that grantRow fills, for jsonb_to_recordset. Lifetimes are seconds. */
export const GRANT_INPUT = `grant_id uuid, ${GRANTS.recordset(NEW)}, family_id uuid, token_hash text, ttl int, max_age int, cnf jsonb`;

export const grantRow = (grant: NewGrant, family: NewFamily | undefined): { readonly [member: string]: Json } => ({
  grant_id: grant.id,
  ...newRow({ authentication: undefined, ...grant }),
  family_id: family?.id,
  token_hash: family && hex(family.tokenHash),
  ttl: family?.ttl,
  max_age: family?.maxAge,
  cnf: family?.cnf && { ...family.cnf },
});

/** CTEs that insert a grant and any family for each row of `source`: GRANT_INPUT, document_client, user_epoch and client_epoch. */
export const openGrants = (source: string): string =>
  `opened as (
     insert into grants (id, ${GRANTS.names(NEW)}, document_client, user_epoch, client_epoch)
     select grant_id, ${GRANTS.values(NEW)}, document_client, user_epoch, client_epoch from ${source}),
   started as (
     insert into refresh_families (id, grant_id, current_hash, expires_at, ends_at, cnf)
     select family_id, grant_id, decode(token_hash, 'hex'), now() + make_interval(secs => least(ttl, max_age)), now() + make_interval(secs => max_age), cnf
     from ${source} where family_id is not null)`;

/** Deletes the unused codes for which `which` holds; waits for one that is being redeemed. */
export const dropCodes = (which: string): string => deleteInOrder("authorization_codes", "code_hash", `${which} and grant_id is null`);

/** Deletes consents likewise. */
export const dropConsents = (which: string): string => deleteInOrder("consents", "id", which);

/**
 * CTEs that revoke the grants for which `which` holds (or mark them as signed out), and revoke their refresh families. They lock grants
 * before families, both in the order of ids (docs/decisions/0014). `ended` has the columns id, user_id and client_id.
 */
export const endGrants = (which: string, end: "revoked_at" | "signed_out_at" = "revoked_at"): string =>
  `ending as materialized (
     select id from grants where ${which} and revoked_at is null${end === "signed_out_at" ? " and signed_out_at is null" : ""}
     order by id for no key update),
   ended as (update grants set ${end} = now() from ending where grants.id = ending.id returning grants.id, user_id, client_id),
   locked as materialized (
     select refresh_families.id from refresh_families join ending on refresh_families.grant_id = ending.id
     where refresh_families.revoked_at is null order by refresh_families.id for no key update of refresh_families),
   families as (update refresh_families set revoked_at = now() from locked where refresh_families.id = locked.id)`;

/** Whether user and client of a grant are enabled. @param grant row of `grants`  @param documentClient SQL expression */
export const partiesEnabled = (grant: string, documentClient = `${grant}.document_client`): string =>
  `exists (select 1 from users where users.id = ${grant}.user_id and users.enabled)
   and ${isClientEnabled(`${grant}.client_id`, documentClient)}`;

/**
 * The same, and whether neither has ended all its rows since this one was written.
 * @param row with user_epoch and client_epoch too  @param named row that names the same user and client; where it is the input, rows are
 * updated in its order (docs/decisions/0014)
 */
export const partiesLive = (row: string, named = row): string =>
  `exists (select 1 from users where users.id = ${named}.user_id and users.enabled and users.epoch = ${row}.user_epoch)
   and coalesce(
     (select clients.enabled and clients.epoch = ${row}.client_epoch from clients where clients.client_id = ${named}.client_id), ${row}.document_client is not null)`;

/** Whether a user's sign-ins were revoked after a row was written. @param row with user_id and user_epoch */
export const userEpochPassed = (row: string): string =>
  `exists (select 1 from users where users.id = ${row}.user_id and users.epoch <> ${row}.user_epoch)`;

/** Whether a client was disabled after a row was written. @param row with client_id and client_epoch */
export const clientEpochPassed = (row: string): string =>
  `exists (select 1 from clients where clients.client_id = ${row}.client_id and clients.epoch <> ${row}.client_epoch)`;

/** The epoch of a client for a new row; a client without a row has none. @param clientId SQL expression */
export const clientEpoch = (clientId: string): string =>
  `coalesce((select clients.epoch from clients where clients.client_id = ${clientId}), 0)`;
