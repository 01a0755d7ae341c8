import type { ConnectionAuthMethod, ConnectionProtocol } from "../../upstream/connection.ts";
import { boolean, createdAt, id, integer, json, nullable, reference, table, text, texts, time, uuid } from "./table.ts";

/** Identity providers that users sign in by. */
export const CONNECTIONS = table(
  "connections",
  {
    id: id(),
    realmId: reference("realms"),
    /** In the path of its sign-in, so unique over all realms. */
    name: text({ unique: true }),
    title: text(),
    protocol: text<ConnectionProtocol>(),
    issuer: text(),
    clientId: text(),
    authMethod: text<ConnectionAuthMethod>(),
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
    indexes: { connections_name_index: '(realm_id, name collate "C", id)', connections_realm_index: "(realm_id, id)" },
    checks: {
      connections_protocol_check: "protocol = any (array['oidc'::text, 'github'::text])",
      connections_auth_method_check: "auth_method = any (array['client_secret'::text, 'private_key_jwt'::text, 'none'::text])",
    },
  },
);

/** The upstream session that started a session. */
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
