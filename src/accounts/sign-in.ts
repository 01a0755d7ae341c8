import type { AuditEntry } from "../audit.ts";
import type { Clock, RandomBytes } from "../clock.ts";
import { isRefusal, Refusal } from "../errors.ts";
import { newId } from "../identifier.ts";
import { hashSecret, newSecret } from "../secret.ts";
import { deviceOf } from "./device.ts";
import type { ProofPorts } from "./password-proof.ts";
import type { Account, Session, Sessions, User } from "./ports.ts";
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

type Judged =
  | { readonly verdict: "right"; readonly signedIn: NewSession; readonly outdated: boolean }
  | { readonly verdict: "wrong"; readonly reason: string; readonly user: User | undefined };

/** Starts the session of a person whose password was right. @returns undefined for a disabled user, or when the password was just changed */
async function startSession(
  { user, generation }: Account,
  { sessions, clock, randomBytes, sessionTtl }: SignInPorts,
  caller: Caller,
  replaces: string | undefined,
): Promise<NewSession | undefined> {
  const secret = newSecret(randomBytes);
  const session = await sessions.start(
    {
      id: newId(clock, randomBytes),
      hash: hashSecret(secret),
      userId: user.id,
      ttl: sessionTtl,
      place: { address: caller.address, ...deviceOf(caller.userAgent) },
      generation,
      ...(replaces !== undefined && { replaces: hashSecret(replaces) }),
    },
    started(user, caller),
  );
  return session && { user, session, secret };
}

/**
 * Signs a person in by password and starts a session under a new secret; the session of the cookie that came along ends.
 * The attempt takes its place in the budgets before the password is looked at, so that guesses in parallel cannot slip past the limit;
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
  const { users, attempts, refusals, passwords } = ports;
  const judged = await attempts.run(email, caller, async (): Promise<Judged> => {
    const account = await users.byEmail(email);
    const verdict = await passwords.verify(account?.passwordHash, password, caller.limitKey);
    const wrong = (reason: string): Judged => ({ verdict: "wrong", reason, user: account?.user });
    if (!account || verdict.kind === "wrong") return wrong(account ? "password_wrong" : "account_unknown");
    const signedIn = await startSession(account, ports, caller, replaces);
    return signedIn ? { verdict: "right", signedIn, outdated: verdict.outdated } : wrong("account_disabled");
  });
  if (judged.verdict === "wrong") {
    await refusals.record(refused(judged.reason, judged.user, caller));
    throw wrongCredentials(judged.reason);
  }
  const { signedIn, outdated } = judged;
  if (outdated) await improveHash(signedIn.user.id, password, ports, caller);
  return signedIn;
}

/** Stores a hash by the parameters of today. Without room for it the person is signed in all the same, and the next sign-in tries it. */
async function improveHash(userId: string, password: string, { users, passwords }: SignInPorts, { limitKey }: Caller): Promise<void> {
  try {
    await users.replacePasswordHash(userId, await passwords.hash(password, limitKey));
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}
