import type { AuditEntry } from "../../../audit.ts";
import type { RemoteKeys } from "../../../clients/public-keys.ts";
import type { NewGrant } from "../../token-state.ts";

/** The subject of an identity assertion, and the identifier that it uses up. */
export interface AssertedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Undefined unless the issuer has verified it. */
  readonly verifiedEmail: string | undefined;
  readonly realmId: string;
  /** The id of the user, if one is created. */
  readonly newUserId: string;
  readonly jti: string;
  /** Seconds for which the identifier is remembered. */
  readonly remember: number;
}

export interface IdentityAssertions {
  /**
   * In one transaction, finds the user by (issuer, subject), else links one by a verified address, else creates one without a password;
   * uses up the identifier; opens the grant with its audit record.
   * @returns the user's id
   * @throws {Refusal} invalid_grant for a used identifier, and for a disabled user, a disabled client or a paused agent
   */
  accept(identity: AssertedIdentity, grant: Omit<NewGrant, "userId">, audit: AuditEntry): Promise<string>;
  /** What `accept` would find now; an unknown user counts as enabled. Writes nothing. */
  outlook(
    identity: AssertedIdentity,
    clientId: string,
  ): Promise<{ readonly enabled: boolean; readonly agentPaused: boolean; readonly used: boolean }>;
}

export interface IdentityAssertionPorts {
  /** ID_JAG_TRUSTED_ISSUERS */
  readonly trustedIssuers: readonly string[];
  /** ID_JAG_MAX_ASSERTION_LIFETIME in seconds. */
  readonly maxLifetime: number;
  /** The issuers' keys, found by OpenID Connect discovery. */
  readonly keys: RemoteKeys;
  readonly assertions: IdentityAssertions;
}
