import type { WorkloadIdentity, WorkloadIssuer } from "../../clients/workload.ts";
import { boolean, createdAt, id, integer, json, nullable, reference, table, text, texts, time } from "./table.ts";

/** Platforms whose tokens authenticate clients. */
export const WORKLOAD_ISSUERS = table(
  "workload_issuers",
  {
    id: id(),
    issuer: text({ unique: true }),
    kind: text<WorkloadIssuer["kind"]>(),
    jwksUri: nullable(text()),
    bundleEndpoint: nullable(text()),
    algorithms: texts<WorkloadIssuer["algorithms"]>(),
    maxLifetime: integer(),
    singleUse: boolean(),
    allowPrivate: boolean({ default: "false" }),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
  },
  {
    indexes: { workload_issuers_issuer_index: '(issuer collate "C", id)' },
    checks: { workload_issuers_kind_check: "kind = any (array['oidc'::text, 'kubernetes'::text, 'spiffe'::text])" },
  },
);

/** What a platform calls a workload that stands for a client. */
export const WORKLOAD_IDENTITIES = table(
  "workload_identities",
  {
    id: id(),
    issuerId: reference("workload_issuers"),
    clientId: reference("clients", { index: true }),
    subject: text(),
    claims: json<WorkloadIdentity["claims"]>({ default: "'{}'" }),
    createdAt: createdAt(),
  },
  {
    // Besides these, workload_identities_search_index where PostgreSQL has pg_trgm.
    indexes: {
      workload_identities_subject_index: "(issuer_id, subject)",
      workload_identities_order_index: '("left"(subject, 100) collate "C", id)',
      workload_identities_issuer_index: "(issuer_id, id)",
      workload_identities_issuer_order_index: '(issuer_id, "left"(subject, 100) collate "C", id)',
    },
    // One identity stands for one client. Claims may be too long for an index entry.
    uniqueIndexes: { workload_identities_identity_unique: "(issuer_id, subject, hashtextextended(claims::text, 0))" },
  },
);
