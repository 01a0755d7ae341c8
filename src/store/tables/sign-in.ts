import type { SecretHash } from "../../random.ts";
import { CONNECTION_AUTH_METHODS } from "../../upstream/connection.ts";
import { bigint, boolean, bytes, createdAt, id, integer, json, nullable, reference, table, text, texts, time, uuid } from "./table.ts";

/** Identity providers that users sign in by. */
export const CONNECTIONS = table(
  "connections",
  {
    id: id(),
    realmId: reference("realms"),
    /** In the path of its sign-in, so unique over all realms. */
    name: text({ unique: true }),
    title: text(),
    protocol: text({ oneOf: ["oidc", "github"] }),
    issuer: text(),
    clientId: text(),
    authMethod: text({ oneOf: CONNECTION_AUTH_METHODS }),
    /** The client secret or private JWK, sealed (secret-box.ts). */
    secret: nullable(text()),
    publicKey: nullable(json<Readonly<Record<string, unknown>>>()),
    scopes: texts(),
    domains: texts({ default: "'{}'" }),
    trustsAcr: boolean({ default: "false" }),
    enabled: boolean({ default: "true" }),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
  },
  {
    indexes: {
      connections_name_index: '(realm_id, name collate "C", id)',
      connections_realm_index: "(realm_id, id)",
      connections_all_name_index: '(name collate "C", id)',
    },
  },
);

export const UPSTREAM_SESSIONS = table(
  "upstream_sessions",
  {
    sessionId: reference("sessions", { primary: true }),
    issuer: text(),
    subject: text(),
    sid: nullable(text()),
  },
  { indexes: { upstream_sessions_issuer_subject_index: "(issuer, subject)", upstream_sessions_issuer_sid_index: "(issuer, sid)" } },
);

/** The clients that are notified when a session ends. */
export const SESSION_CLIENTS = table("session_clients", {
  sessionId: reference("sessions", { primary: true }),
  clientId: text({ primary: true }),
});

/** Notifications of ended sessions to be sent to clients, queued by a trigger (migration 0007). They outlive session and user. */
export const LOGOUT_DELIVERIES = table("logout_deliveries", {
  id: id(),
  clientId: text(),
  userId: uuid(),
  sessionId: uuid(),
  attempts: integer({ default: "0" }),
  createdAt: createdAt(),
  dueAt: time({ default: "now()", index: true }),
});

export const PASSKEYS = table("passkeys", {
  id: id(),
  userId: reference("users", { index: true }),
  credentialId: bytes({ unique: true }),
  /** COSE_Key. */
  publicKey: bytes(),
  /** The signatures that the authenticator has counted; 0 if it does not count. */
  counter: bigint(),
  transports: texts(),
  /** Whether the passkey is synchronised between devices. */
  backedUp: boolean(),
  /** The make of the authenticator; zeros if it does not say. */
  aaguid: text(),
  name: text(),
  createdAt: createdAt(),
  lastUsedAt: nullable(time()),
  /** When a copy was used: since then the passkey is refused. */
  copiedAt: nullable(time()),
});

/** A user's authenticator app (TOTP). */
export const AUTHENTICATOR_APPS = table("authenticator_apps", {
  userId: reference("users", { primary: true }),
  /** Sealed with VAULT_KEY. */
  secret: text(),
  /** The last time step whose code was used; no earlier one counts. */
  lastStep: bigint({ default: "0" }),
  createdAt: createdAt(),
  /** When the user entered the first code; before, the app does not count. */
  confirmedAt: nullable(time()),
  /** In which it was begun. */
  sessionId: nullable(uuid()),
});

export const RECOVERY_CODES = table("recovery_codes", {
  codeHash: bytes<SecretHash>({ primary: true }),
  userId: reference("users", { index: true }),
  createdAt: createdAt(),
});

/** Challenges of passkeys, and sign-ins that wait for a second factor. */
export const PROOF_CHALLENGES = table(
  "proof_challenges",
  {
    idHash: bytes<SecretHash>({ primary: true }),
    kind: text({ oneOf: ["passkey_sign_in", "passkey_registration", "second_factor"] }),
    /** Null until a passkey says whose it is. */
    userId: nullable(reference("users", { index: true })),
    /** Of the proved password. */
    generation: nullable(integer()),
    /** What another provider has proved. */
    upstream: nullable(json()),
    /** A signed-in user, or a network address. */
    holder: text(),
    createdAt: createdAt(),
    expiresAt: time({ index: true }),
  },
  { indexes: { proof_challenges_holder_index: "(holder, created_at)" } },
);
