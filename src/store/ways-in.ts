/**
 * Whether a user can sign in: by a password, a passkey, or an identity of a provider. A caller that removes one locks the user's row first, so that
 * of two removals the second sees what the first has left.
 * @param userId SQL expression  @param but SQL condition over `other`, the identity that does not count
 */
export const hasWayIn = (userId: string, but = "false"): string =>
  `exists (select from credentials where user_id = ${userId} and type = 'password')
   or exists (select from passkeys where user_id = ${userId} and copied_at is null)
   or exists (
     select from identity_links as other join connections using (issuer)
     where other.user_id = ${userId} and other.confirmed and connections.enabled and not (${but}))`;
