import { Start } from "./0001-start.ts";
import { ApiKeys } from "./0002-api-keys.ts";
import { MetadataDocuments } from "./0003-metadata-documents.ts";
import { Delegations } from "./0004-delegations.ts";
import { AuditChain } from "./0005-audit-chain.ts";
import { DetachedSignatures } from "./0006-detached-signatures.ts";
import { RevocationMarks } from "./0007-revocation-marks.ts";
import { ConfiguredKeys } from "./0008-configured-keys.ts";
import { DelegationCuts } from "./0010-delegation-cuts.ts";
import { AgentPauses } from "./0011-agent-pauses.ts";
import { RefusedRequests } from "./0012-refused-requests.ts";
import { SignOutAddresses } from "./0013-sign-out-addresses.ts";
import { WalletLinks } from "./0014-wallet-links.ts";
import { WalletCredentials } from "./0015-wallet-credentials.ts";
import { PasswordResets } from "./0016-password-resets.ts";
import { SessionPlaces } from "./0017-session-places.ts";
import { MailEnds } from "./0018-mail-ends.ts";
import { ScopeDescriptions } from "./0019-scope-descriptions.ts";
import { IdsInOrder } from "./0020-ids-in-order.ts";
import { ConsentsByPlace } from "./0021-consents-by-place.ts";
import { DelegationsInOrder } from "./0023-delegations-in-order.ts";
import { PendingRequestHolders } from "./0032-pending-request-holders.ts";

/** Every migration, oldest first. A name once released is never given again. */
export const migrations = [
  { name: "0001_start", class: Start },
  { name: "0002_api_keys", class: ApiKeys },
  { name: "0003_metadata_documents", class: MetadataDocuments },
  { name: "0004_delegations", class: Delegations },
  { name: "0005_audit_chain", class: AuditChain },
  { name: "0006_detached_signatures", class: DetachedSignatures },
  { name: "0007_revocation_marks", class: RevocationMarks },
  { name: "0008_configured_keys", class: ConfiguredKeys },
  { name: "0010_delegation_cuts", class: DelegationCuts },
  { name: "0011_agent_pauses", class: AgentPauses },
  { name: "0012_refused_requests", class: RefusedRequests },
  { name: "0013_sign_out_addresses", class: SignOutAddresses },
  { name: "0014_wallet_links", class: WalletLinks },
  { name: "0015_wallet_credentials", class: WalletCredentials },
  { name: "0016_password_resets", class: PasswordResets },
  { name: "0017_session_places", class: SessionPlaces },
  { name: "0018_mail_ends", class: MailEnds },
  { name: "0019_scope_descriptions", class: ScopeDescriptions },
  { name: "0020_ids_in_order", class: IdsInOrder },
  { name: "0021_consents_by_place", class: ConsentsByPlace },
  { name: "0023_delegations_in_order", class: DelegationsInOrder },
  { name: "0032_pending_request_holders", class: PendingRequestHolders },
];
