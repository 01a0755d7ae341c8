import { defineEntity, p } from "@mikro-orm/core";
import { createdAt, epoch, hash, id, moment, words } from "./columns.ts";

export const RealmRow = defineEntity({
  name: "RealmRow",
  tableName: "realms",
  properties: {
    id: id(),
    name: p.text().unique("realms_name_unique"),
    /** Null: what the deployment says. */
    dynamicRegistrationScopes: words().nullable(),
    createdAt: createdAt(),
  },
});

export const UserRow = defineEntity({
  name: "UserRow",
  tableName: "users",
  properties: {
    id: id(),
    realm: () => p.manyToOne(RealmRow).fieldName("realm_id").updateRule("no action").deleteRule("no action"),
    email: p.text(),
    /** The address in the one spelling by which addresses are compared (emailKey). */
    emailKey: p.text().unique("users_email_key_unique"),
    emailVerified: p.boolean().default(false),
    firstName: p.text().nullable(),
    lastName: p.text().nullable(),
    role: p.text().default("developer"),
    enabled: p.boolean().default(true),
    epoch: epoch(),
    createdAt: createdAt(),
    updatedAt: moment().nullable(),
    /** A deleted account with much to remove: the row stays, without its address and names, until that is done. */
    deletedAt: moment().nullable(),
  },
  checks: [{ name: "users_role_check", expression: "role = any (array['developer'::text, 'operator'::text])" }],
});

export const userReference = () => p.manyToOne(UserRow).fieldName("user_id").updateRule("no action").deleteRule("cascade");

/** One way in for a person: a password, or the identity that a wallet proved. */
export const CredentialRow = defineEntity({
  name: "CredentialRow",
  tableName: "credentials",
  properties: {
    id: id(),
    user: () => userReference(),
    type: p.text(),
    passwordHash: p.text().nullable(),
    /** Of a wallet's credential: who vouches for the subject, which means something to that issuer alone. */
    issuer: p.text().nullable(),
    subject: p.text().nullable(),
    createdAt: createdAt(),
    updatedAt: moment().nullable(),
    /** Grows with every new password: what was proved by an earlier one counts no more. A better hash of the same one leaves it. */
    generation: p.integer().default(0),
  },
  uniques: [
    { name: "credentials_user_id_type_unique", properties: ["user", "type"] },
    { name: "credentials_type_issuer_subject_unique", properties: ["type", "issuer", "subject"] },
  ],
  checks: [
    {
      name: "credentials_type_check",
      expression:
        "((type = 'password'::text) and (password_hash is not null)) or ((type = 'wallet'::text) and (issuer is not null) and (subject is not null))",
    },
  ],
});

export const SessionRow = defineEntity({
  name: "SessionRow",
  tableName: "sessions",
  properties: {
    id: id(),
    tokenHash: hash().unique("sessions_token_hash_unique"),
    user: () => userReference().index("sessions_user_id_index"),
    userEpoch: epoch(),
    authTime: createdAt(),
    expiresAt: moment().index("sessions_expires_at_index"),
    endedAt: moment().nullable(),
    /** Moves seldom (LAST_SEEN in sessions.ts). */
    lastSeenAt: createdAt(),
    address: p.text().nullable(),
    browser: p.text().nullable(),
    system: p.text().nullable(),
    /** Of the token set that the sign-in brought; it ends with the session. */
    grantId: p.uuid().nullable(),
  },
});

export const VerificationTokenRow = defineEntity({
  name: "VerificationTokenRow",
  tableName: "verification_tokens",
  properties: {
    tokenHash: hash().primary(),
    user: () => userReference().index("verification_tokens_user_id_index"),
    createdAt: createdAt(),
    expiresAt: moment().index("verification_tokens_expires_at_index"),
    usedAt: moment().nullable(),
  },
});

/** The link for a forgotten password: one at most for each person. */
export const PasswordResetRow = defineEntity({
  name: "PasswordResetRow",
  tableName: "password_resets",
  properties: {
    user: () => p.oneToOne(UserRow).fieldName("user_id").primary().updateRule("no action").deleteRule("cascade"),
    tokenHash: hash().unique("password_resets_token_hash_unique"),
    createdAt: createdAt(),
    expiresAt: moment().index("password_resets_expires_at_index"),
  },
});

/** Failed attempts to sign in, and those under way, per digest of account and address, or of the address alone. */
export const SignInFailureRow = defineEntity({
  name: "SignInFailureRow",
  tableName: "sign_in_failures",
  properties: {
    key: hash().primary(),
    failures: p.integer(),
    windowEndsAt: moment().index("sign_in_failures_window_ends_at_index"),
    pending: p.integer().default(0),
    /** From then on the attempts under way count no more. */
    pendingUntil: createdAt(),
  },
});

export const PendingRequestRow = defineEntity({
  name: "PendingRequestRow",
  tableName: "pending_requests",
  properties: {
    idHash: hash().primary(),
    query: p.text(),
    createdAt: createdAt(),
    expiresAt: moment().index("pending_requests_expires_at_index"),
    /** Whose it is: a signed-in user, or a network address. */
    holder: p.text().default(""),
  },
  indexes: [{ name: "pending_requests_holder_index", properties: ["holder", "createdAt"] }],
});

/** Mails under way. A row goes when the mail server has it, and with it the link that it holds. */
export const OutboxRow = defineEntity({
  name: "OutboxRow",
  tableName: "outbox",
  properties: {
    id: id(),
    recipient: p.text(),
    subject: p.text(),
    text: p.text(),
    html: p.text(),
    attempts: p.integer().default(0),
    createdAt: createdAt(),
    dueAt: createdAt().index("outbox_due_at_index"),
    /** Whose mail it is; none once the account is gone. */
    user: () => userReference().nullable().index("outbox_user_id_index"),
    about: p.text().default("notice"),
    /** From then on it is pointless, and is sent no more. */
    expiresAt: moment().defaultRaw("(now() + '24:00:00'::interval)"),
  },
  checks: [{ name: "outbox_about_check", expression: "about = any (array['verification'::text, 'reset'::text, 'notice'::text])" }],
});

export const ConsentRow = defineEntity({
  name: "ConsentRow",
  tableName: "consents",
  properties: {
    id: id(),
    user: () => userReference(),
    clientId: p.text().index("consents_client_id_index"),
    clientName: p.text(),
    scopes: words(),
    resources: words(),
    createdAt: createdAt(),
    updatedAt: moment().nullable(),
    lastUsedAt: moment().nullable(),
    /** Which of the scopes at which of the resources (scopesByResource in core). */
    allowed: p.json().default("{}"),
    /** What of a metadata document the consent was used for (consentFingerprint in core/policy); null before, and for registered clients. */
    clientFingerprint: p.text().nullable(),
  },
  uniques: [{ name: "consents_user_id_client_id_unique", properties: ["user", "clientId"] }],
});

/** What a scope allows, in the operators' words for people. */
export const ScopeDescriptionRow = defineEntity({
  name: "ScopeDescriptionRow",
  tableName: "scope_descriptions",
  properties: {
    realm: () => p.manyToOne(RealmRow).primary().fieldName("realm_id").updateRule("no action").deleteRule("cascade"),
    name: p.text().primary(),
    title: p.json(),
    detail: p.json(),
    createdAt: createdAt(),
    updatedAt: moment().nullable(),
  },
});
