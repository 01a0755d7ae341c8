import type { AuditEntry } from "../audit.ts";
import type { SecretHash } from "../random.ts";
import type { MailMessage, OwnSession, UpstreamProof, User } from "./ports.ts";

/** A passkey as its user sees it. Times are seconds since the epoch, with their fraction. */
export interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  /** Whether it is synchronised between devices. */
  readonly backedUp: boolean;
  /** When a copy was used: since then it is refused. */
  readonly copiedAt: number | null;
}

export interface PasskeyKey {
  readonly credentialId: Uint8Array;
  /** COSE_Key. */
  readonly publicKey: Uint8Array;
  readonly transports: readonly string[];
}

export interface NewPasskey extends PasskeyKey {
  readonly id: string;
  readonly userId: string;
  readonly counter: number;
  readonly backedUp: boolean;
  readonly aaguid: string;
  readonly name: string;
}

/** A passkey with its enabled user. */
export type FoundPasskey = PasskeyKey & { readonly id: string; readonly user: User };

/** What the authenticator says at a use. A passkey can be synchronised later than it was made. */
export type PasskeyUse = Pick<NewPasskey, "counter" | "backedUp">;

export const MAX_PASSKEYS = 20;

/** Passkeys. Every write includes its audit record, and its message if there is one. */
export interface Passkeys {
  /** The oldest first. */
  ofUser(userId: string): Promise<readonly Passkey[]>;
  /** Without those that are refused because a copy was used. */
  keysOf(userId: string): Promise<readonly PasskeyKey[]>;
  /** @returns undefined for an unknown credential, and for that of a disabled user */
  byCredential(credentialId: Uint8Array): Promise<FoundPasskey | undefined>;
  /** @returns false when the credential is known already, or the user has MAX_PASSKEYS  @throws {Refusal} login_required when the session has ended */
  add(passkey: NewPasskey, sessionId: string, message: MailMessage, audit: AuditEntry): Promise<boolean>;
  /** @returns false for another user's passkey */
  rename(id: string, userId: string, name: string, audit: AuditEntry): Promise<boolean>;
  /**
   * @param sessionId the user's; undefined where an operator removes
   * @returns `last` when the user could no longer sign in, `unknown` for another user's passkey
   * @throws {Refusal} login_required when the session has ended
   */
  remove(
    id: string,
    userId: string,
    sessionId: string | undefined,
    message: MailMessage,
    audit: AuditEntry,
  ): Promise<"removed" | "last" | "unknown">;
  /** Counts a use. @returns false when the counter has not grown, or a copy was reported */
  use(id: string, use: PasskeyUse): Promise<boolean>;
  /** Refuses a passkey from now on, of which a copy was used, and notifies the user once. */
  reportCopy(id: string, userId: string, message: MailMessage, audit: AuditEntry): Promise<void>;
}

/** What passkeys are bound to. @see WebAuthn L3 §5.1.2 (rp), §13.4.9 */
export interface RelyingParty {
  /** A host name. */
  readonly id: string;
  readonly origin: string;
}

/** An authenticator app, and the session in which it was begun. `now`: seconds since the epoch by the database's clock. */
export interface AuthenticatorApp {
  /** Sealed. */
  readonly secret: string;
  readonly confirmed: boolean;
  readonly sessionId: string | null;
  readonly now: number;
}

/** What a user has set up; `appAddedAt` in seconds since the epoch, null without an app. */
export type SecondFactorState = { readonly appAddedAt: number | null; readonly recoveryCodes: number };

/** Authenticator apps and recovery codes. Every write but `begin` includes its audit record, and its message if there is one. */
export interface SecondFactors {
  stateOf(userId: string): Promise<SecondFactorState>;
  appOf(userId: string): Promise<AuthenticatorApp | undefined>;
  /**
   * Stores the secret of an app that is to be confirmed.
   * @returns false when the user has a confirmed one
   * @throws {Refusal} login_required when the session has ended
   */
  begin(session: OwnSession, secret: string): Promise<boolean>;
  /**
   * Confirms the app with this secret by a time step, and stores its recovery codes.
   * @returns false when it is confirmed already, or was begun again
   * @throws {Refusal} login_required when the session has ended
   */
  confirm(
    session: OwnSession,
    app: { readonly secret: string; readonly step: number },
    codes: readonly SecretHash[],
    message: MailMessage,
    audit: AuditEntry,
  ): Promise<boolean>;
  /** @returns false without a confirmed app  @throws {Refusal} login_required when the session has ended */
  replaceCodes(session: OwnSession, codes: readonly SecretHash[], audit: AuditEntry): Promise<boolean>;
  /**
   * Removes app and recovery codes.
   * @param sessionId the user's; undefined where an operator removes
   * @returns false without a confirmed app
   * @throws {Refusal} login_required when the session has ended
   */
  remove(userId: string, sessionId: string | undefined, message: MailMessage, audit: AuditEntry): Promise<boolean>;
}

/** What waits for a proof. Each is used once. */
export type ChallengeKind = "passkey_sign_in" | "passkey_registration" | "second_factor";

/** `generation` is that of the proved password, `upstream` what another provider has proved. */
export interface ProofChallenge {
  readonly userId: string | null;
  readonly generation: number | null;
  readonly upstream: UpstreamProof | null;
}

export interface ProofChallenges {
  /** Deletes the oldest challenges of the holder above `limit`. @param ttl seconds by the database's clock */
  put(
    idHash: SecretHash,
    kind: ChallengeKind,
    about: ProofChallenge,
    ttl: number,
    bound: { readonly holder: string; readonly limit: number },
  ): Promise<void>;
  /** @returns undefined for one that is unknown, used or expired */
  byId(idHash: SecretHash, kind: ChallengeKind): Promise<ProofChallenge | undefined>;
  /** Removes and returns the challenge, for one of several callers. */
  take(idHash: SecretHash, kind: ChallengeKind): Promise<ProofChallenge | undefined>;
}
