import type { AuditActor, AuditEntry } from "../../audit.ts";
import { bigint, bytes, createdAt, id, integer, json, nullable, type RowOf, table, text, texts, time, uuid, wholeTime } from "./table.ts";

/**
 * The audit log: rows are added and never changed (a trigger enforces it). It has no references, since a record outlives what it is about.
 * Partitioned by ranges of ids (audit-partitions.ts).
 */
export const AUDIT_RECORDS = table(
  "audit_records",
  {
    id: id(),
    at: createdAt(),
    event: text<AuditEntry["event"]>(),
    outcome: text({ oneOf: ["success", "failure"] }),
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
    rule: nullable(text()),
    error: nullable(text()),
    repeats: nullable(integer()),
    workloadIssuer: nullable(text()),
    workloadSubject: nullable(text()),
    note: nullable(text()),
  },
  {
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
    },
    partitions: { by: "id", others: "audit_records_first" },
  },
);

/**
 * The place of each audit record in the chain: a trigger adds the row with the record, sealing fills it in, once. Partitioned by the same
 * ranges; `seq` is unique in each partition.
 */
export const AUDIT_LINKS = table(
  "audit_links",
  {
    /** Of the record. */
    id: uuid({ primary: true }),
    /** Null until the record is sealed. */
    seq: nullable(bigint()),
    hash: nullable(bytes()),
  },
  {
    checks: { audit_links_seal_check: "(seq is null) = (hash is null)" },
    indexes: { audit_links_waiting_index: "(id) where seq is null" },
    partitions: { by: "id", others: "audit_links_first" },
  },
);

/** A refused token request that named a resource with a record. */
export const RESOURCE_REFUSALS = table("resource_refusals", {
  realmId: uuid({ primary: true }),
  resource: text({ primary: true }),
  recordId: uuid({ primary: true }),
  at: time({ index: true }),
});

/** Signed heads of the audit chain. */
export const AUDIT_CHECKPOINTS = table("audit_checkpoints", {
  seq: bigint({ primary: true }),
  hash: bytes(),
  at: wholeTime({ default: "now()" }),
  kid: text(),
  jws: text(),
});

/** How far the audit trail was handed over to AUDIT_STREAM: one row. */
export const AUDIT_STREAM = table("audit_stream", {
  /** The setting. */
  name: text({ primary: true }),
  /** The last number that the receiver has got. */
  seq: bigint({ default: "0" }),
  /** The process that sends until `leasedUntil`. */
  holder: nullable(uuid()),
  leasedUntil: wholeTime({ default: "now()" }),
});

/** The number with which the audit trail begins; what is before it was exported: one row. */
export const AUDIT_START = table("audit_start", {
  /** The setting. */
  name: text({ primary: true }),
  seq: bigint({ default: "0" }),
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

/** Numbers of audit records by hour and by day, counted when they are sealed. */
export const FIGURES = table(
  "figures",
  {
    /** client_id; empty: all clients of the realm. */
    clientId: text({ primary: true }),
    span: text({ primary: true, oneOf: ["hour", "day"] }),
    startsAt: wholeTime({ primary: true }),
    realmId: uuid({ primary: true }),
    kind: text({ primary: true, oneOf: ["issued", "refused", "replayed", "raced"] }),
    /** Of a token, its grant type. */
    reason: text({ primary: true }),
    n: bigint(),
  },
  { indexes: { figures_starts_at_index: "(span, starts_at)" } },
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
  /** When an operator withdrew it, for good; null: never. */
  withdrawnAt: nullable(wholeTime()),
});

/** Rows to remove in the background, of a client or user that was disabled, signed out or deleted. */
export const REMOVALS = table(
  "removals",
  {
    id: id(),
    kind: text({ oneOf: ["client_disabled", "client_deleted", "user_signed_out", "user_disabled", "user_deleted"] }),
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
  { uniques: { removals_kind_key_unique: ["kind", "key"] } },
);
export type RemovalKind = RowOf<typeof REMOVALS>["kind"];
