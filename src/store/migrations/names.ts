/** The names of all migrations, by themselves, so that a start on a current schema needs no migration tooling. */
export const MIGRATION_NAMES = [
  "0001_start",
  "0002_api_keys",
  "0003_metadata_documents",
  "0004_delegations",
  "0005_audit_chain",
  "0006_detached_signatures",
  "0007_revocation_marks",
  "0008_configured_keys",
  "0010_delegation_cuts",
  "0011_agent_pauses",
  "0012_refused_requests",
  "0013_sign_out_addresses",
  "0014_wallet_links",
  "0015_wallet_credentials",
  "0016_password_resets",
  "0017_session_places",
  "0018_mail_ends",
  "0019_scope_descriptions",
  "0020_ids_in_order",
  "0021_consents_by_place",
  "0023_delegations_in_order",
  "0032_pending_request_holders",
] as const;

/** Where the database keeps the names of those that have run. */
export const MIGRATION_TABLE = "schema_migrations";
