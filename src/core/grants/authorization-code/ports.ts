import type { AuditEntry } from "../../../audit.ts";
import type { Client } from "../../../clients/client.ts";
import type { AuthenticationDemand, StatedAuthentication } from "../../../protocol/authentication-context.ts";
import type { SecretHash } from "../../../random.ts";
import type { ResourceTerms } from "../../../resources/resource.ts";
import type { Confirmation, NewGrant, Subject } from "../../token-state.ts";

/** What a code is bound to (OAuth 2.1 §4.1.2). */
export interface CodeBinding {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly nonce: string | null;
  readonly userId: string;
  readonly sessionId: string;
  /** Seconds since the epoch of the real authentication. */
  readonly authTime: number;
  /** The client of a metadata document as it was when the code was issued. */
  readonly documentClient?: Client;
  /** consentFingerprint of that client. */
  readonly clientFingerprint?: string;
  /** Set where tokens say how the user signed in. The store adds it from the session. */
  readonly stated?: Pick<StatedAuthentication, "requested" | "inIdToken">;
  /** Thumbprint of the key that has to be proven when the code is redeemed. */
  readonly dpopJkt?: string | null;
  /** The pushed request that the code uses up. */
  readonly pushedRequest?: SecretHash;
  /** What the session must fulfil when the code is stored. */
  readonly demand?: AuthenticationDemand;
}

/** The state of a code. Times in seconds since the epoch; `now` by the database's clock. */
export interface CodeState extends Omit<CodeBinding, "clientFingerprint" | "stated" | "demand" | "pushedRequest"> {
  readonly authentication?: StatedAuthentication | null;
  readonly expiresAt: number;
  /** The grant that the code was redeemed for; null while it is unused. */
  readonly grantId: string | null;
  readonly subject: Subject;
  /** Whether the client is an agent that an operator or the user has paused. */
  readonly agentPaused: boolean;
  /** Of the resources' records, in any realm. */
  readonly resourceTerms: readonly ResourceTerms[];
  readonly now: number;
}

/** The refresh family of a new grant. `ttl` and `maxAge` in seconds by the database's clock. `cnf` is the key that it is bound to. */
export interface NewFamily {
  readonly id: string;
  readonly tokenHash: SecretHash;
  readonly ttl: number;
  readonly maxAge: number;
  readonly cnf?: Confirmation;
}

export interface AuthorizationCodes {
  /**
   * Stores a code, in one conditional statement, if user and client are enabled, the session is live and as strong as demanded, and a
   * consent covers the request. The consent of a metadata document's client is bound to its first `clientFingerprint`. A stored code gets
   * no second record. A pushed request is used up by its first code.
   * @returns whether the code is stored
   */
  issue(codeHash: SecretHash, binding: CodeBinding, ttl: number, audit: AuditEntry): Promise<boolean>;
  byHash(codeHash: SecretHash): Promise<CodeState | undefined>;
  /**
   * Consumes the code and opens grant and family with the audit record, in one conditional statement.
   * @returns false when another redemption came first, the code has expired, or user or client is disabled
   */
  redeem(codeHash: SecretHash, grant: NewGrant, family: NewFamily | undefined, audit: AuditEntry): Promise<boolean>;
}
