import type { Client } from "../../clients/client.ts";
import type { RevocationEvent } from "../../core/revocation-events.ts";
import type { Confirmation } from "../../core/tokens/access-token.ts";
import type { SecretHash } from "../../secret.ts";
import {
  bigint,
  boolean,
  bytes,
  createdAt,
  epoch,
  id,
  json,
  nullable,
  reference,
  table,
  text,
  texts,
  time,
  uuid,
  wholeTime,
} from "./table.ts";

/** A client as its metadata document described it when a code was issued to it. It has no secret. */
export type DocumentClient = Omit<Client, "secretHash">;

/** Null for a client with a row of its own. */
const documentClient = () => nullable(json<DocumentClient>());

/**
 * What a user granted a client. `clientId` is the OAuth client_id and no reference: a client that is known by its metadata document
 * has no row of its own.
 */
export const GRANTS = table(
  "grants",
  {
    id: id(),
    clientId: text(),
    userId: reference("users"),
    scopes: texts(),
    audience: texts(),
    authTime: wholeTime(),
    createdAt: time({ default: "now()", index: true }),
    revokedAt: nullable(time()),
    documentClient: documentClient(),
    /** The user has signed out since: tokens live to their expiry, and can no longer be exchanged. */
    signedOutAt: nullable(time()),
    /** Epochs of user and client when it was granted: it is active as long as theirs are the same. */
    userEpoch: epoch(),
    clientEpoch: epoch(),
  },
  {
    indexes: {
      grants_client_id_id_index: "(client_id, id)",
      grants_user_id_client_id_id_index: "(user_id, client_id, id)",
    },
  },
);

/** Used once: `grantId` is null until the code is redeemed. Used codes are kept for a day, so that a replay is recognized. */
export const AUTHORIZATION_CODES = table(
  "authorization_codes",
  {
    codeHash: bytes<SecretHash>({ primary: true }),
    clientId: text(),
    userId: reference("users", { index: true }),
    sessionId: uuid(),
    redirectUri: text(),
    codeChallenge: text(),
    scopes: texts(),
    resources: texts(),
    nonce: nullable(text()),
    authTime: wholeTime(),
    createdAt: createdAt(),
    expiresAt: wholeTime({ index: true }),
    consumedAt: nullable(time()),
    grantId: nullable(reference("grants", { index: true })),
    documentClient: documentClient(),
    userEpoch: epoch(),
    clientEpoch: epoch(),
  },
  { checks: { authorization_codes_consumed_check: "(consumed_at is null) = (grant_id is null)" } },
);

/** The state of a rotating refresh token: the row names the one token that may be used next. */
export const REFRESH_FAMILIES = table(
  "refresh_families",
  {
    id: id(),
    grantId: reference("grants", { index: true }),
    currentHash: bytes<SecretHash>({ unique: true }),
    createdAt: createdAt(),
    expiresAt: wholeTime({ index: true }),
    /** No rotation extends the family beyond this moment. */
    endsAt: time(),
    revokedAt: nullable(time()),
    /** The key that its tokens are bound to. */
    cnf: nullable(json<Confirmation>()),
  },
  { checks: { refresh_families_expiry_check: "expires_at <= ends_at" } },
);

/** Every used token of a family, as long as the family is kept: a token found here is a replay, any other unknown one was never issued. */
export const REFRESH_TOKENS = table("refresh_tokens", {
  tokenHash: bytes<SecretHash>({ primary: true }),
  familyId: reference("refresh_families", { index: true }),
  usedAt: createdAt(),
});

/** Access tokens that were revoked one by one, until they would have expired. */
export const REVOCATIONS = table("revocations", {
  jti: text({ primary: true }),
  clientId: text(),
  revokedAt: createdAt(),
  expiresAt: time({ index: true }),
});

/** What was revoked before it expired, for resource servers that verify tokens themselves. Written by triggers (docs/decisions/0010). */
export const REVOCATION_EVENTS = table(
  "revocation_events",
  {
    id: bigint({ primary: true, autoincrement: true }),
    /** The transaction that wrote it. */
    xid: bigint({ index: true }),
    kind: text<RevocationEvent["kind"]>(),
    key: text(),
    lifted: boolean(),
    revokedAt: createdAt(),
    expiresAt: time({ index: true }),
  },
  {
    indexes: { revocation_events_kind_key_index: "(kind, key)" },
    checks: {
      revocation_events_kind_check: "kind = any (array['jti'::text, 'grant'::text, 'client'::text, 'user'::text, 'agent'::text])",
    },
  },
);

/** Identifiers of accepted assertions, per use; none is accepted twice. */
export const CONSUMED_IDS = table("consumed_ids", {
  kind: text({ primary: true }),
  /** Digest of issuer and identifier. */
  idHash: bytes({ primary: true }),
  expiresAt: time({ index: true }),
});

/** Second signatures of access tokens, until the tokens expire. */
export const DETACHED_SIGNATURES = table("detached_signatures", {
  jti: text({ primary: true }),
  alg: text(),
  signature: bytes(),
  expiresAt: time({ index: true }),
});
