import type { AuditEntry } from "../../../audit.ts";
import type { RemoteKeys } from "../../../clients/key-set.ts";
import type { NewGrant } from "../../token-state.ts";

/** Who an accepted identity assertion speaks of, and the identifier that it uses up. */
export interface AssertedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Only where the issuer says that it has been verified. */
  readonly verifiedEmail: string | undefined;
  /** The realm in which a person is looked for, or made. */
  readonly realmId: string;
  /** The id that a person gets who is not known here yet. */
  readonly newUserId: string;
  readonly jti: string;
  /** Seconds for which the identifier is remembered. */
  readonly remember: number;
}

export interface IdentityAssertions {
  /**
   * Finds the person by (issuer, subject), else by a verified address, which is then linked, else makes one without a password; uses up
   * the identifier; opens the grant with its audit record. All or nothing, in one transaction.
   * @returns the person's id
   * @throws {Refusal} invalid_grant for an identifier that was used before, and for a person or client that is disabled
   */
  accept(identity: AssertedIdentity, grant: Omit<NewGrant, "userId">, audit: AuditEntry): Promise<string>;
  /** What `accept` would meet at this moment; whoever is not known yet counts as enabled. Writes nothing. */
  outlook(identity: AssertedIdentity): Promise<{ readonly enabled: boolean; readonly used: boolean }>;
}

/** What accepting identity assertions takes. */
export interface IdentityAssertionPorts {
  /** ID_JAG_TRUSTED_ISSUERS */
  readonly trustedIssuers: readonly string[];
  /** ID_JAG_MAX_ASSERTION_LIFETIME in seconds. */
  readonly maxLifetime: number;
  /** Keys by which issuers sign assertions, found by OpenID Connect discovery. */
  readonly keys: RemoteKeys;
  readonly assertions: IdentityAssertions;
}
