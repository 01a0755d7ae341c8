import type { Client } from "../../clients/client.ts";
import type { Confirmation } from "../../core/stored-grants.ts";
import type { StatedAuthentication } from "../../protocol/authentication-context.ts";
import type { SecretHash } from "../../random.ts";
import {
  bigint,
  boolean,
  bytes,
  createdAt,
  epoch,
  id,
  integer,
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

/** A client as its metadata document described it when a code was issued, without `secretHash` in rows of 0.1.0; null for one with a row of its own. */
const documentClient = () => nullable(json<Client>());

/** How the user signed in; null where tokens do not say it. */
const authentication = () => nullable(json<StatedAuthentication>());

/** A user's grant to a client. `clientId` is no reference, because a client known by its metadata document has no row. */
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
    /** When the user signed out: tokens live to their expiry, but can no longer be exchanged. */
    signedOutAt: nullable(time()),
    /** Epochs of user and client at the time of the grant, which is active while theirs are the same. */
    userEpoch: epoch(),
    clientEpoch: epoch(),
    authentication: authentication(),
  },
  {
    indexes: { grants_client_id_id_index: "(client_id, id)", grants_user_id_client_id_id_index: "(user_id, client_id, id)" },
  },
);

/** `grantId` is null until the code is redeemed; no reference, for the grant may be deleted first. Used codes are kept for a day to detect replays. */
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
    grantId: nullable(uuid()),
    documentClient: documentClient(),
    userEpoch: epoch(),
    clientEpoch: epoch(),
    authentication: authentication(),
    dpopJkt: nullable(text()),
  },
  {
    checks: { authorization_codes_consumed_check: "(consumed_at is null) = (grant_id is null)" },
    indexes: { authorization_codes_pending_index: "(client_id) where grant_id is null" },
  },
);

/** An authorization request that a client pushed (RFC 9126). */
export const PUSHED_REQUESTS = table("pushed_requests", {
  idHash: bytes<SecretHash>({ primary: true }),
  clientId: text(),
  query: text(),
  createdAt: createdAt(),
  expiresAt: time({ index: true }),
  /** The browser that opened it. */
  browser: nullable(text()),
  /** The code that used it up. */
  codeHash: nullable(bytes()),
});

/**
 * A device's request for access, on which a user decides in a browser. An approved one has an authorization code with the hash of its device
 * code. Only the hashes of both codes are stored.
 */
export const DEVICE_REQUESTS = table("device_requests", {
  id: id(),
  deviceCodeHash: bytes<SecretHash>({ unique: true }),
  userCodeHash: bytes<SecretHash>({ unique: true }),
  clientId: text(),
  scopes: texts(),
  resources: texts(),
  documentClient: documentClient(),
  /** The address that the request came from. */
  address: text(),
  createdAt: createdAt(),
  expiresAt: wholeTime({ index: true }),
  /** Seconds between two polls. */
  pollInterval: integer(),
  polledAt: nullable(time()),
  deniedAt: nullable(time()),
  /** Thumbprint of the key that the device proved. */
  dpopJkt: nullable(text()),
});

/** A rotating refresh token: the row holds the one token that may be used next. */
export const REFRESH_FAMILIES = table(
  "refresh_families",
  {
    id: id(),
    grantId: reference("grants", { index: true }),
    currentHash: bytes<SecretHash>({ unique: true }),
    createdAt: createdAt(),
    expiresAt: wholeTime({ index: true }),
    /** No rotation extends the family beyond this. */
    endsAt: time(),
    revokedAt: nullable(time()),
    /** The key that its tokens are bound to. */
    cnf: nullable(json<Confirmation>()),
  },
  { checks: { refresh_families_expiry_check: "expires_at <= ends_at" } },
);

/** Every used token of a family: a token found here is a replay; any other unknown one was never issued. */
export const REFRESH_TOKENS = table("refresh_tokens", {
  tokenHash: bytes<SecretHash>({ primary: true }),
  familyId: reference("refresh_families", { index: true }),
  usedAt: createdAt(),
});

/** Access tokens revoked one by one, until they would have expired. */
export const REVOCATIONS = table("revocations", {
  jti: text({ primary: true }),
  clientId: text(),
  revokedAt: createdAt(),
  expiresAt: time({ index: true }),
});

/** Early revocations, for resource servers that verify tokens themselves. Written by triggers (docs/decisions/0010). */
export const REVOCATION_EVENTS = table(
  "revocation_events",
  {
    id: bigint({ primary: true, autoincrement: true }),
    /** The transaction that wrote it. */
    xid: bigint({ index: true }),
    kind: text({ oneOf: ["jti", "grant", "client", "user", "agent"] }),
    key: text(),
    lifted: boolean(),
    revokedAt: createdAt(),
    expiresAt: time({ index: true }),
  },
  { indexes: { revocation_events_kind_key_index: "(kind, key)" } },
);

/** Ids of accepted assertions, by use; none is accepted twice. */
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
