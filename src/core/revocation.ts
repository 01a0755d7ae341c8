import type { AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import { hashSecret } from "../random.ts";
import type { Core } from "./ports.ts";
import { actorsOf, tokenReference, verifiedAccessToken } from "./tokens/access-token.ts";

const REFRESH_TOKEN = /^[0-9a-f]{64}$/;

/**
 * Revokes a token of the client: a refresh token with its family and all that was issued from it, an access token alone. Ignores everything
 * that is not a live token of this client.
 * @see RFC 7009 §2.1 and §2.2, docs/protocol.md#revocation
 */
export async function revoke(token: string, client: Client, requestId: string, core: Core): Promise<void> {
  const audit: AuditEntry = {
    event: "token.revoked",
    outcome: "success",
    actor: { type: "client", id: client.clientId },
    clientId: client.clientId,
    requestId,
  };
  if (REFRESH_TOKEN.test(token)) {
    const family = await core.families.holding(hashSecret(token));
    if (family?.clientId === client.clientId)
      await core.families.revoke(family.familyId, { ...audit, userId: family.subject.userId, grantId: family.grantId });
    return;
  }
  const claims = verifiedAccessToken(token, core);
  if (claims?.client_id !== client.clientId) return;
  const reference = tokenReference(claims);
  await core.tokens.revoke(reference, claims.exp, {
    ...audit,
    jti: claims.jti,
    ...(reference.userId !== undefined && { userId: reference.userId }),
    ...(reference.grantId !== undefined && { grantId: reference.grantId }),
    ...(claims.act && { actChain: actorsOf(claims.act) }),
  });
}
