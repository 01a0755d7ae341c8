import { defineEntity, p } from "@mikro-orm/core";
import { createdAt, hash, id, moment, words } from "./columns.ts";

/**
 * The trail: rows are added, sealed once, and never changed (a trigger of migration 0005 sees to that). No column refers to another table,
 * for a record outlives what it tells of. Every column but the two of the seal is part of what is sealed.
 */
export const AuditRecordRow = defineEntity({
  name: "AuditRecordRow",
  tableName: "audit_records",
  properties: {
    id: id(),
    at: createdAt(),
    event: p.text(),
    outcome: p.text(),
    reason: p.text().nullable(),
    actorType: p.text(),
    actorId: p.text(),
    userId: p.text().nullable(),
    clientId: p.text().nullable(),
    grantType: p.text().nullable(),
    scope: p.text().nullable(),
    resources: words().nullable(),
    jti: p.text().nullable(),
    grantId: p.text().nullable(),
    actChain: words().nullable(),
    address: p.text().nullable(),
    requestId: p.text().nullable(),
    rule: p.text().nullable(),
    error: p.text().nullable(),
    repeats: p.integer().nullable(),
    /** The record's number in the chain; null until it is sealed. */
    seq: p.bigint("number").nullable().unique("audit_records_seq_unique"),
    hash: hash().nullable(),
  },
  checks: [
    { name: "audit_records_outcome_check", expression: "outcome = any (array['success'::text, 'failure'::text])" },
    { name: "audit_records_seal_check", expression: "(seq is null) = (hash is null)" },
  ],
  indexes: [
    ...[
      "audit_records_event_index on audit_records (event, id)",
      "audit_records_actor_index on audit_records (actor_id, id)",
      "audit_records_user_index on audit_records (user_id, id) where user_id is not null",
      "audit_records_client_index on audit_records (client_id, id) where client_id is not null",
      "audit_records_grant_index on audit_records (grant_id, id) where grant_id is not null",
      "audit_records_jti_index on audit_records using hash (jti) where jti is not null",
      "audit_records_request_index on audit_records using hash (request_id) where request_id is not null",
      "audit_records_reason_index on audit_records (reason, id) where reason is not null",
      "audit_records_failure_index on audit_records (id) where outcome = 'failure'",
      "audit_records_client_failure_index on audit_records (client_id, id) where outcome = 'failure' and client_id is not null",
      "audit_records_user_failure_index on audit_records (user_id, id) where outcome = 'failure' and user_id is not null",
    ].map((text) => ({ name: text.slice(0, text.indexOf(" ")), expression: `create index ${text}` })),
    {
      name: "audit_records_unsealed_index",
      expression: "create index audit_records_unsealed_index on audit_records (id) where seq is null",
    },
  ],
});

/** Refused exchanges of agents that had not proved themselves, by the minute; for those that have no record of their own. */
export const RefusedExchangeRow = defineEntity({
  name: "RefusedExchangeRow",
  tableName: "refused_exchanges",
  properties: {
    clientId: p.text().primary(),
    /** An IPv4 address, or the /64 of an IPv6 address. */
    address: p.text().primary(),
    reason: p.text().primary(),
    minute: moment().primary(),
    requests: p.integer().default(1),
  },
  indexes: [
    {
      name: "refused_exchanges_minute_index",
      expression: "create index refused_exchanges_minute_index on refused_exchanges (minute)",
    },
  ],
});

/** Signed statements of where the chain stood. */
export const AuditCheckpointRow = defineEntity({
  name: "AuditCheckpointRow",
  tableName: "audit_checkpoints",
  properties: {
    seq: p.bigint("number").primary().autoincrement(false),
    hash: hash(),
    at: createdAt(),
    kid: p.text(),
    jws: p.text(),
  },
});

/** Public keys of all cores. */
export const SigningKeyRow = defineEntity({
  name: "SigningKeyRow",
  tableName: "signing_keys",
  properties: {
    kid: p.text().primary(),
    jwk: p.json(),
    publishedAt: createdAt(),
    /** When a core last said that it signs with this key; null while none has. */
    inUseAt: moment().nullable(),
    /** When a core last had it in its configuration, to sign with or to verify; null for a key of before this was written down. */
    configuredAt: moment().nullable(),
  },
});

/** What is still to be removed in the background of a client or user that was disabled, signed out or deleted. */
export const RemovalRow = defineEntity({
  name: "RemovalRow",
  tableName: "removals",
  properties: {
    id: id(),
    kind: p.text(),
    /** A client_id, or the id of a user. */
    key: p.text(),
    /** Only what has an earlier epoch goes. */
    epoch: p.integer(),
    /** The last grant that was looked at. */
    afterClientId: p.text().nullable(),
    afterId: p.uuid().nullable(),
    /** Rows that are gone, by what they were. */
    removed: p.json().default("{}"),
    createdAt: createdAt(),
  },
  uniques: [{ name: "removals_kind_key_unique", properties: ["kind", "key"] }],
  checks: [
    {
      name: "removals_kind_check",
      expression:
        "kind = any (array['client_disabled'::text, 'client_deleted'::text, 'user_signed_out'::text, 'user_disabled'::text, 'user_deleted'::text])",
    },
  ],
});
