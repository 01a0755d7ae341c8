import type { AuditEntry } from "../audit.ts";
import type { Clock, RandomBytes } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { newId } from "../identifier.ts";
import { hashSecret, newSecret } from "../secret.ts";
import { deviceOf } from "./device.ts";
import { countAttempt, failureKey, type ProofPorts } from "./password-proof.ts";
import type { Session, Sessions, User } from "./ports.ts";
import { type Caller, whence } from "./sessions.ts";

export interface SignInPorts extends ProofPorts {
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Seconds. */
  readonly sessionTtl: number;
}

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

export interface NewSession {
  readonly user: User;
  readonly session: Session;
  /** The value of the session cookie; only its hash is stored. */
  readonly secret: string;
}

const wrongCredentials = (reason: string) => new Refusal("unauthenticated", reason, { description: "Wrong e-mail address or password." });

const started = (user: User, caller: Caller): AuditEntry => ({
  event: "session.started",
  outcome: "success",
  reason: "password",
  actor: { type: "user", id: user.id },
  userId: user.id,
  ...whence(caller),
});

/** The address that was typed is not told: people type passwords in its place. */
const refused = (reason: string, user: User | undefined, caller: Caller): AuditEntry => ({
  event: "session.refused",
  outcome: "failure",
  reason,
  actor: { type: "service", id: "sign-in" },
  ...(user && { userId: user.id }),
  ...whence(caller),
});

/**
 * Signs a person in by password and starts a session under a new secret; the session of the cookie that came along ends.
 * The attempt is counted before the password is looked at, so that guesses in parallel cannot slip past the limit;
 * an unknown address, a wrong and an empty password cost the same work, and leave the same trace.
 * @param replaces the value of a session cookie that came with the request
 * @throws {Refusal} unauthenticated, too_many_requests, temporarily_unavailable
 */
export async function signIn(
  { email, password }: Credentials,
  ports: SignInPorts,
  caller: Caller,
  replaces: string | undefined,
): Promise<NewSession> {
  const { users, signInFailures, sessions, refusals, passwords, clock, randomBytes } = ports;
  const key = failureKey(email, caller);
  await countAttempt(key, signInFailures);
  const account = await users.byEmail(email);
  const refuse = async (reason: string): Promise<never> => {
    await refusals.record(refused(reason, account?.user, caller));
    throw wrongCredentials(reason);
  };
  const verdict = await passwords.verify(account?.passwordHash, password);
  if (!account || verdict.kind === "wrong") return refuse(account ? "password_wrong" : "account_unknown");

  const secret = newSecret(randomBytes);
  const session = await sessions.start(
    {
      id: newId(clock, randomBytes),
      hash: hashSecret(secret),
      userId: account.user.id,
      ttl: ports.sessionTtl,
      place: { address: caller.address, ...deviceOf(caller.userAgent) },
      generation: account.generation,
      ...(replaces !== undefined && { replaces: hashSecret(replaces) }),
    },
    started(account.user, caller),
  );
  if (!session) return refuse("account_disabled"); // or its password has just been changed
  await signInFailures.clear(key);
  if (verdict.outdated) await users.replacePasswordHash(account.user.id, await passwords.hash(password));
  return { user: account.user, session, secret };
}
