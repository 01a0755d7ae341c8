import type { AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import { hashSecret, newId, newSecret, type RandomBytes } from "../random.ts";
import type { Authenticator } from "./authenticators/authenticator.ts";
import { type ProofPorts, passwordAuthenticator } from "./authenticators/password.ts";
import { auditOfUser, auditOrigin, type Caller } from "./caller.ts";
import { deviceOf } from "./device.ts";
import type { Account, NewSessionRecord, Session, Sessions, User } from "./ports.ts";
import { EMAIL_UNVERIFIED, needsProof, type SignUpPolicy } from "./sign-up-policy.ts";

export interface SignInPorts extends ProofPorts {
  readonly sessions: Sessions;
  readonly signUpPolicy: SignUpPolicy;
  readonly randomBytes: RandomBytes;
  /** Seconds. */
  readonly sessionTtl: number;
}

export type Credentials = { readonly email: string; readonly password: string };

export interface NewSession {
  readonly user: User;
  readonly session: Session;
  /** The value of the session cookie; only its hash is stored. */
  readonly secret: string;
}

/** Does not record the address that was typed: users type passwords in its place. */
const refused = (reason: string, user: User | undefined, caller: Caller): AuditEntry => ({
  event: "session.refused",
  outcome: "failure",
  reason,
  actor: { type: "service", id: "sign-in" },
  ...(user && { userId: user.id }),
  ...auditOrigin(caller),
});

/** A session for the browser of a request, with the secret of which it stores the hash. */
export function newSession(
  userId: string,
  { clock, randomBytes, sessionTtl }: Pick<SignInPorts, "clock" | "randomBytes" | "sessionTtl">,
  caller: Caller,
): { readonly secret: string; readonly record: NewSessionRecord } {
  const secret = newSecret(randomBytes);
  const place = { address: caller.address, ...deviceOf(caller.userAgent) };
  return { secret, record: { id: newId(clock, randomBytes), hash: hashSecret(secret), userId, ttl: sessionTtl, place } };
}

/** Starts a session for a proved account. @returns undefined for a disabled user, or when the password was just changed */
async function startSession(
  { user, generation }: Pick<Account, "user" | "generation">,
  authenticator: string,
  ports: SignInPorts,
  caller: Caller,
  replaces: string | undefined,
): Promise<NewSession | undefined> {
  const { secret, record } = newSession(user.id, ports, caller);
  const session = await ports.sessions.start(
    { ...record, generation, ...(replaces !== undefined && { replaces: hashSecret(replaces) }) },
    auditOfUser("session.started", user.id, caller, { reason: authenticator }),
  );
  return session && { user, session, secret };
}

/**
 * Signs a user in and starts a session. Every failed sign-in leaves the same trace, so that none shows whether the account exists.
 * @param replaces the value of the session cookie in the request; that session ends
 * @throws {Refusal} unauthenticated, too_many_requests, temporarily_unavailable; forbidden while the address must be proved first
 */
async function signInBy<Proof>(
  authenticator: Authenticator<Proof>,
  { email, proof }: { readonly email: string; readonly proof: Proof },
  ports: SignInPorts,
  caller: Caller,
  replaces: string | undefined,
): Promise<NewSession> {
  const outcome = await authenticator.verify(email, proof, caller, async (proved) => {
    const { user } = proved.account;
    if (needsProof(user, ports.signUpPolicy)) {
      await ports.refusals.record(refused(EMAIL_UNVERIFIED, user, caller));
      throw new Refusal("forbidden", EMAIL_UNVERIFIED, { description: "Confirm your e-mail address first, by the link in the mail." });
    }
    return startSession(proved.account, authenticator.name, ports, caller, replaces);
  });
  if (outcome.kind === "proved") return outcome.result;
  await ports.refusals.record(refused(outcome.reason, outcome.user, caller));
  throw new Refusal("unauthenticated", outcome.reason, { description: "Wrong e-mail address or password." });
}

/**
 * Signs in a user who has just opened the account, without asking for the password again.
 * @param reason of the audit record
 * @throws {Refusal} unauthenticated where the password was changed or the account disabled since
 */
export async function signInNewcomer(
  account: Pick<Account, "user" | "generation">,
  reason: "sign_up" | "invitation",
  ports: SignInPorts,
  caller: Caller,
  replaces: string | undefined,
): Promise<NewSession> {
  const session = await startSession(account, reason, ports, caller, replaces);
  if (session === undefined) throw new Refusal("unauthenticated", "account_disabled", { description: "Wrong e-mail address or password." });
  return session;
}

/** Signs a user in by password: {@link signInBy}. */
export const signIn = (
  { email, password }: Credentials,
  ports: SignInPorts,
  caller: Caller,
  replaces: string | undefined,
): Promise<NewSession> => signInBy(passwordAuthenticator(ports), { email, proof: password }, ports, caller, replaces);
