import type { Wording } from "../../accounts/account.ts";
import { ROLES, type Role } from "../../accounts/ports.ts";
import type { Branding } from "../../branding/branding.ts";
import type { Acr } from "../../protocol/authentication-context.ts";
import type { SecretHash } from "../../random.ts";
import {
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

export const REALMS = table(
  "realms",
  {
    id: id(),
    name: text({ unique: true }),
    /** Null: DEFAULT_DYNAMIC_REGISTRATION_SCOPES applies. */
    dynamicRegistrationScopes: nullable(texts()),
    createdAt: createdAt(),
    /** The weakest sign-in that the realm accepts; null: any. */
    requiredAcr: nullable(text<Acr>({ oneOf: ["urn:countersign:mfa", "phr"] })),
    /** Null: that of the deployment. */
    branding: nullable(json<Branding>()),
  },
  { indexes: { realms_name_index: '(lower("left"(name, 100)), id)' } },
);

export const USERS = table(
  "users",
  {
    id: id(),
    email: text(),
    emailVerified: boolean({ default: "false" }),
    realmId: reference("realms", { onDelete: "no action" }),
    firstName: nullable(text()),
    lastName: nullable(text()),
    role: text({ oneOf: ROLES, default: "'developer'" }),
    enabled: boolean({ default: "true" }),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
    /** The address as it is compared (emailKey). */
    emailKey: text({ unique: true }),
    epoch: epoch(),
    /** Set on a large deleted account: the row stays, without its address and names, until all its rows are removed. */
    deletedAt: nullable(time()),
  },
  {
    // Besides these, users_search_index where PostgreSQL has pg_trgm.
    indexes: {
      users_created_index: "(created_at, id)",
      users_realm_index: "(realm_id, created_at, id)",
      users_role_index: "(role, created_at, id)",
      users_disabled_index: "(created_at, id) where not enabled",
      users_unverified_index: "(created_at, id) where not email_verified",
    },
  },
);

/** A password, or the identity that a wallet proved. */
export const CREDENTIALS = table(
  "credentials",
  {
    id: id(),
    userId: reference("users"),
    type: text(),
    passwordHash: nullable(text()),
    subject: nullable(text()),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
    /** The issuer of a wallet's credential; `subject` is unique within it. */
    issuer: nullable(text()),
    /** Increases with every new password, so that proof of an earlier one no longer counts; rehashing keeps it. */
    generation: integer({ default: "0" }),
  },
  {
    uniques: { credentials_user_id_type_unique: ["userId", "type"], credentials_type_issuer_subject_unique: ["type", "issuer", "subject"] },
    checks: {
      credentials_type_check:
        "((type = 'password'::text) and (password_hash is not null)) or ((type = 'wallet'::text) and (issuer is not null) and (subject is not null))",
    },
  },
);

export const SESSIONS = table("sessions", {
  id: id(),
  tokenHash: bytes<SecretHash>({ unique: true }),
  userId: reference("users", { index: true }),
  authTime: wholeTime({ default: "now()" }),
  expiresAt: wholeTime({ index: true }),
  endedAt: nullable(wholeTime()),
  /** Updated at most every ten minutes (sessions.ts). */
  lastSeenAt: wholeTime({ default: "now()" }),
  address: nullable(text()),
  browser: nullable(text()),
  system: nullable(text()),
  /** The grant of the token set that the sign-in issued; it ends with the session. */
  grantId: nullable(uuid()),
  userEpoch: epoch(),
  /** When the user last proved who they are; `authTime` is the first time. */
  provedAt: wholeTime({ default: "now()" }),
  provedAcr: text({ default: "'urn:countersign:pwd'" }),
  amr: texts({ default: "'{pwd}'" }),
});

export const VERIFICATION_TOKENS = table("verification_tokens", {
  tokenHash: bytes<SecretHash>({ primary: true }),
  userId: reference("users", { index: true }),
  createdAt: createdAt(),
  expiresAt: time({ index: true }),
  usedAt: nullable(time()),
});

/** The link for a forgotten password, at most one for each user. */
export const PASSWORD_RESETS = table("password_resets", {
  userId: reference("users", { primary: true }),
  tokenHash: bytes<SecretHash>({ unique: true }),
  createdAt: createdAt(),
  expiresAt: time({ index: true }),
});

/** Links by which users open an account: those whom an operator invited, and the first operator (no address; its key is empty). */
export const INVITATIONS = table("invitations", {
  id: id(),
  tokenHash: bytes<SecretHash>({ unique: true }),
  email: nullable(text()),
  emailKey: text({ unique: true }),
  role: text<Role>(),
  createdAt: createdAt(),
  expiresAt: time({ index: true }),
  /** Null for the first operator's link, and for invitations of earlier releases. */
  inviterId: nullable(reference("users", { index: true })),
  /** Null: the default realm. */
  realmId: nullable(reference("realms", { index: true })),
});

/** Changes of users' addresses. Confirmed ones stay while they can be undone; a user has at most one that is not confirmed. */
export const ADDRESS_CHANGES = table(
  "address_changes",
  {
    id: id(),
    userId: reference("users", { index: true }),
    /** Of the link to the new address. */
    tokenHash: bytes<SecretHash>({ unique: true }),
    /** Of the link to the former address; null where that was not verified. */
    stopHash: nullable(bytes<SecretHash>({ unique: true })),
    email: text(),
    formerEmail: text(),
    createdAt: createdAt(),
    /** Of the link to the new address. */
    expiresAt: time(),
    confirmedAt: nullable(time()),
    stopUntil: time({ index: true }),
  },
  { uniqueIndexes: { address_changes_waiting_unique: "(user_id) where confirmed_at is null" } },
);

/** Browsers in which a user has signed in, by hash of account and cookie. */
export const KNOWN_DEVICES = table("known_devices", {
  keyHash: bytes<SecretHash>({ primary: true }),
  userId: reference("users", { index: true }),
  expiresAt: time({ index: true }),
});

/** Failed and running attempts to sign in, by digest of account and address, or of the address alone. */
export const SIGN_IN_FAILURES = table("sign_in_failures", {
  key: bytes({ primary: true }),
  failures: integer(),
  windowEndsAt: time({ index: true }),
  pending: integer({ default: "0" }),
  /** When running attempts no longer count. */
  pendingUntil: createdAt(),
});

export const PENDING_REQUESTS = table(
  "pending_requests",
  {
    idHash: bytes<SecretHash>({ primary: true }),
    query: text(),
    createdAt: wholeTime({ default: "now()" }),
    expiresAt: time({ index: true }),
    /** A signed-in user, or a network address. */
    holder: text({ default: "''" }),
  },
  { indexes: { pending_requests_holder_index: "(holder, created_at)" } },
);

/** Mails to send. A row, with the link in it, is deleted when the mail server has accepted it. */
export const OUTBOX = table("outbox", {
  id: id(),
  recipient: text(),
  subject: text(),
  text: text(),
  html: text(),
  attempts: integer({ default: "0" }),
  createdAt: createdAt(),
  dueAt: time({ default: "now()", index: true }),
  /** Null once the account is deleted. */
  userId: nullable(reference("users", { index: true })),
  about: text({ oneOf: ["verification", "reset", "notice"], default: "'notice'" }),
  expiresAt: time({ default: "(now() + '24:00:00'::interval)" }),
});

export const CONSENTS = table(
  "consents",
  {
    id: id(),
    userId: reference("users"),
    clientId: text(),
    clientName: text(),
    scopes: texts(),
    resources: texts(),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
    lastUsedAt: nullable(time()),
    /** Of the metadata document at the consent's last use (consentFingerprint); null before, and for registered clients. */
    clientFingerprint: nullable(text()),
    /** The scopes allowed at each resource (scopesByResource). */
    allowed: json<Readonly<Record<string, readonly string[]>>>({ default: "'{}'" }),
  },
  {
    uniques: { consents_user_id_client_id_unique: ["userId", "clientId"] },
    indexes: { consents_client_id_id_index: "(client_id, id)" },
  },
);

/** What a scope allows, as operators describe it to users. */
export const SCOPE_DESCRIPTIONS = table(
  "scope_descriptions",
  {
    realmId: reference("realms", { primary: true }),
    name: text({ primary: true }),
    title: json<Wording>(),
    detail: json<Wording>(),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
    id: uuid({ default: "uuid_v7()" }),
  },
  { indexes: { scope_descriptions_name_index: '(realm_id, name collate "C", id)' } },
);

export const WALLET_LINKS = table(
  "wallet_links",
  {
    handleHash: bytes<SecretHash>({ primary: true }),
    stateHash: bytes<SecretHash>({ unique: true }),
    returnHash: nullable(bytes<SecretHash>({ unique: true })),
    userId: reference("users", { index: true }),
    sessionId: uuid(),
    sameDevice: boolean(),
    state: text({
      oneOf: ["pending", "answered", "presented", "linked", "conflict", "expired", "rejected"],
      default: "'pending'",
    }),
    reason: nullable(text()),
    /** The identity that the wallet proved, until the link is completed. */
    issuer: nullable(text()),
    subject: nullable(text()),
    createdAt: createdAt(),
    expiresAt: wholeTime({ index: true }),
  },
  {
    checks: {
      wallet_links_identity_check: "((state = 'presented'::text) = (subject is not null)) and ((issuer is null) = (subject is null))",
    },
  },
);
