/** The events of the audit log; outcome and reason are members of their own. */
export const AUDIT_EVENTS = [
  "token.issued",
  "token.refused",
  "token.revoked",
  "code.issued",
  "code.replayed",
  "device.approved",
  "refresh_token.replayed",
  "session.started",
  "session.proved",
  "session.refused",
  "session.ended",
  "user.registered",
  "user.invited",
  "user.verified",
  "user.provisioned",
  "user.changed",
  "user.deleted",
  "user.access_removed",
  "address.change_requested",
  "address.changed",
  "address.change_stopped",
  "password.reset_requested",
  "password.changed",
  "second_factor.added",
  "second_factor.removed",
  "recovery_codes.replaced",
  "recovery_code.used",
  "passkey.added",
  "passkey.changed",
  "passkey.removed",
  "passkey.refused",
  "realm.changed",
  "scope.changed",
  "scope.removed",
  "resource.created",
  "resource.changed",
  "resource.deleted",
  "consent.given",
  "consent.denied",
  "consent.revoked",
  "client.registered",
  "client.changed",
  "client.deleted",
  "client.access_removed",
  "client.secret_replaced",
  "client.refused",
  "api_key.created",
  "api_key.revoked",
  "key.published",
  "key.withdrawn",
  "audit.archived",
  "identity.linked",
  "identity.unlinked",
  "connection.created",
  "connection.changed",
  "connection.deleted",
  "workload_issuer.created",
  "workload_issuer.changed",
  "workload_issuer.deleted",
  "workload_identity.added",
  "workload_identity.removed",
  "workload.refused",
  "wallet.link_started",
  "wallet.linked",
  "wallet.refused",
  "wallet.unlinked",
  "identity_assertion.issued",
  "identity_assertion.refused",
  "delegation.cut",
  "agent.paused",
  "agent.resumed",
] as const;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

export type AuditActor = { readonly type: "user" | "client" | "service"; readonly id: string };

/**
 * A record of the append-only audit log, written in the transaction of its effect. It never holds a secret, token, code or password.
 * @see docs/protocol.md#audit
 */
export interface AuditEntry {
  readonly event: AuditEvent;
  readonly outcome: "success" | "failure";
  /** A fixed word, such as `code_expired`. */
  readonly reason?: string;
  /** The rule that refused, and the returned error code. */
  readonly rule?: string;
  readonly error?: string;
  readonly actor: AuditActor;
  readonly userId?: string;
  readonly clientId?: string;
  readonly grantType?: string;
  readonly scope?: string;
  readonly resources?: readonly string[];
  readonly jti?: string;
  readonly grantId?: string;
  /** Client ids of the delegation chain, the current actor first. */
  readonly actChain?: readonly string[];
  readonly address?: string;
  readonly requestId?: string;
  /** Not recorded: seconds since the epoch by the database's clock; after it neither the record nor its effect is written. */
  readonly notAfter?: number | undefined;
  /** Not recorded: a proof of possession that is used up with the effect; `ttl` in seconds. @see docs/protocol.md#proof-of-possession */
  readonly proof?: { readonly id: string; readonly ttl: number };
  /** The workload whose token the client used: the platform, and its name there. */
  readonly workloadIssuer?: string;
  readonly workloadSubject?: string;
  /** What the actor wrote to explain the act. */
  readonly note?: string;
  /** How many further requests of the same kind this record stands for. */
  readonly repeats?: number;
}

/** A realm among the `resources` of a record. */
export const realmUri = (id: string): string => `realm:${id}`;
/** Records of the audit trail, by number, among the `resources` of a record. */
export const auditTrailUri = (first: number, last: number): string => `audit:${first}-${last}`;
/** A signing key among the `resources` of a record. */
export const keyUri = (kid: string): string => `key:${kid}`;
