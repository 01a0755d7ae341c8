import { dropCodes, dropConsents, endGrants } from "./grant-rows.ts";
import { endAllSessions } from "./session-revocation.ts";
import { deleteInOrder, type Sql, statement } from "./sql.ts";

const OF_USER = "user_id = $1::uuid";

const DROP_LINKS = statement("unproven_drop_wallet_links", deleteInOrder("wallet_links", "handle_hash", OF_USER));
const DROP_VERIFICATIONS = statement("unproven_drop_verifications", deleteInOrder("verification_tokens", "token_hash", OF_USER));
// In a statement after the end of the links: a wallet that is being linked is seen there.
const DROP_WALLETS = statement("unproven_drop_wallets", `delete from credentials where ${OF_USER} and type = 'wallet'`);
const DROP_CONSENTS = statement("unproven_drop_consents", dropConsents(OF_USER));
const DROP_CODES = statement("unproven_drop_codes", dropCodes(OF_USER));
const END_GRANTS = statement("unproven_end_grants", `with ${endGrants(OF_USER)} select 1 as one from ended`);
const DROP_IDENTITIES = statement("unproven_drop_identities", `delete from identity_links where ${OF_USER}`);
const DROP_MAILS = statement("unproven_drop_mails", deleteInOrder("outbox", "id", `${OF_USER} and about = 'verification'`));

/**
 * Ends what was begun on an account with an unverified address, at the moment at which someone proves it: sessions, grants with all
 * that was exchanged for them, consents, wallets, linked identities and links by mail. It may all be the work of someone who signed up with
 * another person's address. The caller holds the user, and replaces the password in the same transaction.
 * Clients that the account owns stay: they give no access to the person, and others may rely on them.
 */
export async function endUnproven(tx: Pick<Sql, "query">, userId: string): Promise<void> {
  for (const each of [DROP_LINKS, DROP_VERIFICATIONS, DROP_WALLETS]) await tx.query(each, [userId]);
  await endAllSessions(tx, userId);
  for (const each of [DROP_CONSENTS, DROP_CODES, END_GRANTS, DROP_IDENTITIES, DROP_MAILS]) await tx.query(each, [userId]);
}
