import { hash } from "node:crypto";
import type { AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import { hashSecret } from "../random.ts";
import type { Core } from "./ports.ts";
import { actorsOf, packed, tokenReference } from "./tokens/access-token.ts";

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
  const claims = core.issuedTokens.accessToken(token);
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

/** A revocation, or (`lifted`) the end of one. Times in seconds since the epoch. */
export interface RevocationEvent {
  /** Digits. Of two events with one key the later has the greater number. */
  readonly sequence: string;
  readonly kind: "jti" | "grant" | "client" | "user" | "agent";
  /**
   * The jti, UUID of a user or a grant (or of a deleted client's record), or client_id; for an agent that one user paused, client_id, line feed
   * and UUID of the user.
   */
  readonly key: string;
  readonly lifted: boolean;
  readonly revokedAt: number;
  /** No token that the event could concern lives longer. */
  readonly expiresAt: number;
}

/** Revocation events, written in the transaction that revokes. */
export interface RevocationEvents {
  /** A cursor: `since` returns every event that is not yet visible when the cursor is read. */
  edge(): Promise<string>;
  /**
   * Every event that became visible since the cursor was read, and possibly some earlier ones. Without a cursor, or with one of another
   * database, all events (`whole`): they are kept for an hour after `expiresAt`.
   */
  since(
    cursor: string | undefined,
  ): Promise<{ readonly marks: readonly RevocationEvent[]; readonly cursor: string; readonly whole: boolean }>;
}

/** Bytes of a digest. */
const LENGTH = 16;

/**
 * The digest by which the holder of a token recognizes a revocation event. It does not reveal ids of users, clients or tokens.
 * @see RevocationEvent in the proto, which fixes the digested texts
 */
export function revocationDigest({ kind, key }: Pick<RevocationEvent, "kind" | "key">): Uint8Array {
  const name = kind === "grant" ? packed(key) : key;
  return hash("sha256", `${kind}:${name}`, "buffer").subarray(0, LENGTH);
}
