/**
 * Whether something on a path ended: a delegation cut, its agent no longer enabled, its token or the one that it was exchanged for revoked.
 * @param path SQL expression of the ids of delegations
 */
export const endedAbove = (path: string): string =>
  `exists (
     select 1 from delegations above
     where above.id = any(${path}) and (
       above.cut_at is not null
       or not exists (select 1 from clients where clients.client_id = above.actor and clients.enabled)
       or exists (select 1 from revocations where revocations.jti in (above.jti, above.parent_jti))))`;
