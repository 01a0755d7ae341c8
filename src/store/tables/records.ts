import type { AuditActor, AuditEntry } from "../../audit.ts";
import { bigint, bytes, createdAt, id, integer, json, nullable, table, text, texts, time, uuid, wholeTime } from "./table.ts";

/**
 * The audit log: rows are added, sealed once, and never changed (a trigger of migration 0001 enforces it). It has no references, since a
 * record outlives what it is about. The seal is `seq` and `hash`; it covers every other column.
 */
export const AUDIT_RECORDS = table(
  "audit_records",
  {
    id: id(),
    at: createdAt(),
    event: text<AuditEntry["event"]>(),
    outcome: text<AuditEntry["outcome"]>(),
    reason: nullable(text()),
    actorType: text<AuditActor["type"]>(),
    actorId: text(),
    userId: nullable(text()),
    clientId: nullable(text()),
    grantType: nullable(text()),
    scope: nullable(text()),
    resources: nullable(texts()),
    jti: nullable(text()),
    grantId: nullable(text()),
    actChain: nullable(texts()),
    address: nullable(text()),
    requestId: nullable(text()),
    /** Number in the chain; null until the record is sealed. */
    seq: nullable(bigint({ unique: true })),
    hash: nullable(bytes()),
    rule: nullable(text()),
    error: nullable(text()),
    repeats: nullable(integer()),
  },
  {
    checks: {
      audit_records_outcome_check: "outcome = any (array['success'::text, 'failure'::text])",
      audit_records_seal_check: "(seq is null) = (hash is null)",
    },
    // Partial, so that a record is only in indexes that it has a value for; few records share a jti or a request.
    indexes: {
      audit_records_event_index: "(event, id)",
      audit_records_actor_index: "(actor_id, id)",
      audit_records_user_index: "(user_id, id) where user_id is not null",
      audit_records_client_index: "(client_id, id) where client_id is not null",
      audit_records_grant_index: "(grant_id, id) where grant_id is not null",
      audit_records_jti_index: "using hash (jti) where jti is not null",
      audit_records_request_index: "using hash (request_id) where request_id is not null",
      audit_records_reason_index: "(reason, id) where reason is not null",
      audit_records_failure_index: "(id) where outcome = 'failure'",
      audit_records_client_failure_index: "(client_id, id) where outcome = 'failure' and client_id is not null",
      audit_records_user_failure_index: "(user_id, id) where outcome = 'failure' and user_id is not null",
      audit_records_unsealed_index: "(id) where seq is null",
    },
  },
);

/** Signed heads of the audit chain. */
export const AUDIT_CHECKPOINTS = table("audit_checkpoints", {
  seq: bigint({ primary: true }),
  hash: bytes(),
  at: wholeTime({ default: "now()" }),
  kid: text(),
  jws: text(),
});

/** Refused exchanges of unauthenticated agents, counted by the minute; only the first of a minute has an audit record. */
export const REFUSED_EXCHANGES = table(
  "refused_exchanges",
  {
    clientId: text({ primary: true }),
    /** An IPv4 address, or the /64 of an IPv6 address. */
    address: text({ primary: true }),
    reason: text({ primary: true }),
    minute: time({ primary: true }),
    requests: integer({ default: "1" }),
  },
  { indexes: { refused_exchanges_minute_index: "(minute)" } },
);

/** Public keys of all cores. */
export const SIGNING_KEYS = table("signing_keys", {
  kid: text({ primary: true }),
  jwk: json<Readonly<Record<string, unknown>>>(),
  publishedAt: wholeTime({ default: "now()" }),
  /** When a core last reported that it signs with this key; null: never. */
  inUseAt: nullable(wholeTime()),
  /** When a core last had it configured, to sign or to verify. */
  configuredAt: nullable(wholeTime()),
});

export type RemovalKind = "client_disabled" | "client_deleted" | "user_signed_out" | "user_disabled" | "user_deleted";

/** Rows to remove in the background, of a client or user that was disabled, signed out or deleted. */
export const REMOVALS = table(
  "removals",
  {
    id: id(),
    kind: text<RemovalKind>(),
    /** A client_id or user id. */
    key: text(),
    /** Only rows of an earlier epoch are removed. */
    epoch: integer(),
    /** The last processed grant. */
    afterClientId: nullable(text()),
    afterId: nullable(uuid()),
    /** Removed rows by kind. */
    removed: json<Readonly<Record<string, number>>>({ default: "'{}'" }),
    createdAt: createdAt(),
  },
  {
    uniques: { removals_kind_key_unique: ["kind", "key"] },
    checks: {
      removals_kind_check:
        "kind = any (array['client_disabled'::text, 'client_deleted'::text, 'user_signed_out'::text, 'user_disabled'::text, 'user_deleted'::text])",
    },
  },
);
