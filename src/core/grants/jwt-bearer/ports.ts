import type { AuditEntry } from "../../../audit.ts";
import type { RemoteKeys } from "../../../clients/key-set.ts";
import type { NewGrant } from "../../token-state.ts";

/** The subject of an identity assertion, and the identifier that it uses up. */
export interface AssertedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Only where the issuer says that it has been verified. */
  readonly verifiedEmail: string | undefined;
  /** The realm in which the user is looked up, or created. */
  readonly realmId: string;
  /** The id of the user if one is created. */
  readonly newUserId: string;
  readonly jti: string;
  /** Seconds for which the identifier is remembered. */
  readonly remember: number;
}

export interface IdentityAssertions {
  /**
   * Finds the user by (issuer, subject), else by a verified address, which is then linked, else creates one without a password; uses up
   * the identifier; opens the grant with its audit record. All in one transaction.
   * @returns the user's id
   * @throws {Refusal} invalid_grant for an identifier that was used before, and for a user or client that is disabled
   */
  accept(identity: AssertedIdentity, grant: Omit<NewGrant, "userId">, audit: AuditEntry): Promise<string>;
  /** What `accept` would find at this moment; an unknown user counts as enabled. Writes nothing. */
  outlook(identity: AssertedIdentity): Promise<{ readonly enabled: boolean; readonly used: boolean }>;
}

/** What the identity assertion grant needs. */
export interface IdentityAssertionPorts {
  /** ID_JAG_TRUSTED_ISSUERS */
  readonly trustedIssuers: readonly string[];
  /** ID_JAG_MAX_ASSERTION_LIFETIME in seconds. */
  readonly maxLifetime: number;
  /** Keys by which issuers sign assertions, found by OpenID Connect discovery. */
  readonly keys: RemoteKeys;
  readonly assertions: IdentityAssertions;
}
