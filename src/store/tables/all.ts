import * as accounts from "./accounts.ts";
import { ApiKeyRow, ClientRow } from "./clients.ts";
import * as delegations from "./delegations.ts";
import * as grants from "./grants.ts";
import * as records from "./records.ts";
import { WalletLinkRow } from "./wallets.ts";

/** Every table. */
export const entities = [
  accounts.RealmRow,
  accounts.UserRow,
  accounts.CredentialRow,
  accounts.SessionRow,
  accounts.VerificationTokenRow,
  accounts.PasswordResetRow,
  accounts.SignInFailureRow,
  accounts.PendingRequestRow,
  accounts.OutboxRow,
  accounts.ConsentRow,
  WalletLinkRow,
  accounts.ScopeDescriptionRow,
  ClientRow,
  ApiKeyRow,
  grants.GrantRow,
  grants.AuthorizationCodeRow,
  grants.RefreshFamilyRow,
  grants.RefreshTokenRow,
  grants.RevocationRow,
  grants.RevocationEventRow,
  grants.ConsumedIdRow,
  delegations.DelegationRow,
  delegations.AgentPauseRow,
  delegations.IdentityLinkRow,
  grants.DetachedSignatureRow,
  records.AuditRecordRow,
  records.AuditCheckpointRow,
  records.RefusedExchangeRow,
  records.SigningKeyRow,
  records.RemovalRow,
];
