import { defineEntity, p } from "@mikro-orm/core";
import { userReference } from "./accounts.ts";
import { createdAt, epoch, hash, id, moment, words } from "./columns.ts";

/** The client as its metadata document described it when the code was issued; null for a client with a row of its own. */
const documentClient = () => p.json().nullable();

/**
 * What a person gave a client. `clientId` is the OAuth client_id and no reference: a client that is known by its metadata document
 * has no row of its own.
 */
export const GrantRow = defineEntity({
  name: "GrantRow",
  tableName: "grants",
  properties: {
    id: id(),
    clientId: p.text(),
    user: () => userReference(),
    /** Epochs of user and client when it was given: it counts as long as theirs are the same. */
    userEpoch: epoch(),
    clientEpoch: epoch(),
    scopes: words(),
    audience: words(),
    authTime: moment(),
    createdAt: createdAt().index("grants_created_at_index"),
    revokedAt: moment().nullable(),
    /** The person has signed out since: tokens live to their expiry, and can be exchanged no more. */
    signedOutAt: moment().nullable(),
    documentClient: documentClient(),
  },
  indexes: [
    { name: "grants_client_id_id_index", properties: ["clientId", "id"] },
    { name: "grants_user_id_client_id_id_index", properties: ["user", "clientId", "id"] },
  ],
});

const grant = () => p.manyToOne(GrantRow).fieldName("grant_id").updateRule("no action").deleteRule("cascade");

/** Used once: `grant` is null until the redemption that opens it. A used code stays for a while, so that its replay is known as one. */
export const AuthorizationCodeRow = defineEntity({
  name: "AuthorizationCodeRow",
  tableName: "authorization_codes",
  properties: {
    codeHash: hash().primary(),
    clientId: p.text(),
    user: () => userReference().index("authorization_codes_user_id_index"),
    sessionId: p.uuid(),
    userEpoch: epoch(),
    clientEpoch: epoch(),
    redirectUri: p.text(),
    codeChallenge: p.text(),
    scopes: words(),
    resources: words(),
    nonce: p.text().nullable(),
    authTime: moment(),
    createdAt: createdAt(),
    expiresAt: moment().index("authorization_codes_expires_at_index"),
    consumedAt: moment().nullable(),
    grant: () => grant().nullable().index("authorization_codes_grant_id_index"),
    documentClient: documentClient(),
  },
  checks: [{ name: "authorization_codes_consumed_check", expression: "(consumed_at is null) = (grant_id is null)" }],
});

/** One row is the state machine of a rotating refresh token: it names the one token that may be used next. */
export const RefreshFamilyRow = defineEntity({
  name: "RefreshFamilyRow",
  tableName: "refresh_families",
  properties: {
    id: id(),
    grant: () => grant().index("refresh_families_grant_id_index"),
    currentHash: hash().unique("refresh_families_current_hash_unique"),
    createdAt: createdAt(),
    expiresAt: moment().index("refresh_families_expires_at_index"),
    /** Whatever its rotations, the family is over here. */
    endsAt: moment(),
    revokedAt: moment().nullable(),
  },
  checks: [{ name: "refresh_families_expiry_check", expression: "expires_at <= ends_at" }],
});

/**
 * Every token of a family that was used up, as long as the family is kept: what is found here is a replay, what is not was never issued.
 */
export const RefreshTokenRow = defineEntity({
  name: "RefreshTokenRow",
  tableName: "refresh_tokens",
  properties: {
    tokenHash: hash().primary(),
    family: () =>
      p
        .manyToOne(RefreshFamilyRow)
        .fieldName("family_id")
        .updateRule("no action")
        .deleteRule("cascade")
        .index("refresh_tokens_family_id_index"),
    usedAt: createdAt(),
  },
});

/** Access tokens that were ended one by one, until they would have expired anyway. */
export const RevocationRow = defineEntity({
  name: "RevocationRow",
  tableName: "revocations",
  properties: {
    jti: p.text().primary(),
    clientId: p.text(),
    revokedAt: createdAt(),
    expiresAt: moment().index("revocations_expires_at_index"),
  },
});

/**
 * What ended before its time, for guards that verify by themselves; written by triggers (migrations 0007, 0010 and 0011, decision 0013).
 */
export const RevocationEventRow = defineEntity({
  name: "RevocationEventRow",
  tableName: "revocation_marks",
  properties: {
    id: p.bigint("string").primary().autoincrement(),
    /** The transaction that wrote it. */
    xid: p.bigint("string").index("revocation_marks_xid_index"),
    kind: p.text(),
    key: p.text(),
    lifted: p.boolean(),
    revokedAt: createdAt(),
    expiresAt: moment().index("revocation_marks_expires_at_index"),
  },
  indexes: [{ name: "revocation_marks_kind_key_index", properties: ["kind", "key"] }],
  checks: [
    {
      name: "revocation_marks_kind_check",
      expression: "kind = any (array['jti'::text, 'grant'::text, 'client'::text, 'user'::text, 'agent'::text])",
    },
  ],
});

/** Identifiers of assertions that were accepted and are never to be accepted again, per use. */
export const ConsumedIdRow = defineEntity({
  name: "ConsumedIdRow",
  tableName: "consumed_ids",
  properties: {
    kind: p.text().primary(),
    /** Digest of issuer and identifier. */
    idHash: hash().primary(),
    expiresAt: moment().index("consumed_ids_expires_at_index"),
  },
});

/** Second signatures of access tokens, until these expire. */
export const DetachedSignatureRow = defineEntity({
  name: "DetachedSignatureRow",
  tableName: "detached_signatures",
  properties: {
    jti: p.text().primary(),
    alg: p.text(),
    signature: p.blob(),
    expiresAt: moment().index("detached_signatures_expires_at_index"),
  },
});
