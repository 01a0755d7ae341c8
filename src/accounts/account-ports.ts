import type { Clock } from "../clock.ts";
import type { RandomBytes } from "../random.ts";
import type { SecretBox } from "../secret-box.ts";
import type { KnownDevices, MailLimits } from "./caller.ts";
import type { AccountClosing, AddressChanges, Invitations, PasswordChanges } from "./change-ports.ts";
import type { AgentPauses, DelegationRepository } from "./delegations.ts";
import type { Passkeys, ProofChallenges, RelyingParty, SecondFactors } from "./factors.ts";
import type { MailSenderPorts } from "./mails.ts";
import type { PasswordAttempts } from "./password-attempts.ts";
import type { PasswordHashing } from "./password-hash.ts";
import type { Consents, RateLimiter, RefusalLog, Sessions, Users } from "./ports.ts";
import type { SignUpPolicy } from "./sign-up-policy.ts";

/** What this room works with. A function that is called with less names its part. */
export interface AccountPorts extends MailSenderPorts {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly box: SecretBox;
  readonly users: Users;
  readonly realms: {
    byId(id: string): Promise<{ readonly id: string } | undefined>;
    default(): Promise<{ readonly id: string }>;
  };
  readonly passwords: PasswordHashing;
  readonly attempts: PasswordAttempts;
  readonly knownDevices: KnownDevices;
  readonly sessions: Sessions;
  /** Seconds. */
  readonly sessionTtl: number;
  readonly refusals: RefusalLog;
  readonly signUpPolicy: SignUpPolicy;
  /** Sign-ups from one network address. */
  readonly signUps: RateLimiter;
  /** Mails to new addresses, which anyone may request. */
  readonly resendLimits: MailLimits;
  readonly forgottenLimits: MailLimits;
  readonly passwordChanges: PasswordChanges;
  readonly addressChanges: AddressChanges;
  readonly invitations: Invitations;
  readonly closing: AccountClosing;
  readonly consents: Consents;
  readonly delegations: DelegationRepository;
  readonly agentPauses: AgentPauses;
  readonly passkeys: Passkeys;
  readonly challenges: ProofChallenges;
  /** Challenges that one user or address may begin. */
  readonly challengeRate: RateLimiter;
  /** Undefined where browsers make no passkeys. */
  readonly relyingParty: RelyingParty | undefined;
  readonly secondFactors: SecondFactors;
}
