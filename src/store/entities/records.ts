import { defineEntity, p } from "@mikro-orm/core";
import { createdAt, id, moment, words } from "./columns.ts";

/** The trail: rows are added and never changed. No column refers to another table, for a record outlives what it tells of. */
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
  },
  checks: [{ name: "audit_records_outcome_check", expression: "outcome = any (array['success'::text, 'failure'::text])" }],
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
  },
});
