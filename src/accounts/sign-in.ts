import type { AuditEntry } from "../audit.ts";
import { isRefusal, Refusal } from "../errors.ts";
import { hashSecret, newId, newSecret } from "../random.ts";
import type { AccountPorts } from "./account-ports.ts";
import { type PasskeyProof, proveByPasskey } from "./authenticators/passkey.ts";
import { BY_PASSWORD, type Credentials, proveByPassword } from "./authenticators/password.ts";
import type { ProofOutcome, ProvedAccount, UseProof } from "./authenticators/proof.ts";
import { auditOfUser, auditOrigin, type Caller } from "./caller.ts";
import { deviceOf } from "./device.ts";
import type { ProofChallenge } from "./factors.ts";
import type { Account, NewSessionRecord, Session, SignedIn, User } from "./ports.ts";
import { enterBySecondFactor, SECOND_FACTOR_WRONG, SIGN_IN_TOO_WEAK, signInOver, type TwoFactorProof } from "./second-factor.ts";
import { EMAIL_UNVERIFIED, needsProof } from "./sign-up-policy.ts";

export interface NewSession {
  readonly user: User;
  readonly session: Session;
  /** The value of the session cookie; only its hash is stored. */
  readonly secret: string;
}

/** The first factor was right, and the user has a second one: no session exists yet. `half`: its key, where it waits. */
export interface HalfSignedIn extends ProofChallenge, Pick<NewSessionRecord, "half"> {
  readonly userId: string;
}

export const isHalf = (outcome: NewSession | HalfSignedIn): outcome is HalfSignedIn => !("session" in outcome);

/** The audit record of a sign-in that was refused, without the address that was typed: users type passwords in its place. */
export const signInRefused = (reason: string, user: Pick<User, "id"> | undefined, caller: Caller): AuditEntry => ({
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
  { clock, randomBytes, sessionTtl }: Pick<AccountPorts, "clock" | "randomBytes" | "sessionTtl">,
  caller: Caller,
): { readonly secret: string; readonly record: NewSessionRecord } {
  const secret = newSecret(randomBytes);
  const place = { address: caller.address, ...deviceOf(caller.userAgent) };
  return { secret, record: { id: newId(clock, randomBytes), hash: hashSecret(secret), userId, ttl: sessionTtl, place } };
}

/**
 * Starts a session for a proved account; one of the same user in this browser goes on, with a new secret.
 * @param reason of the audit record
 * @returns undefined as Sessions.start does  @throws {Refusal} likewise
 */
export async function startSession(
  { account: { user, generation }, ...proof }: ProvedAccount,
  reason: string,
  ports: AccountPorts,
  caller: Caller,
  about: Pick<NewSessionRecord, "raises" | "half" | "factor"> = {},
): Promise<NewSession | undefined> {
  const { secret, record } = newSession(user.id, ports, caller);
  const replaces = caller.session === undefined ? {} : { replaces: hashSecret(caller.session) };
  const resources = proof.upstream && { resources: [proof.upstream.issuer] };
  const audit = auditOfUser("session.started", user.id, caller, { reason, ...resources });
  try {
    const session = await ports.sessions.start({ ...record, ...proof, generation, ...about, ...replaces }, audit);
    return session && { user, session, secret };
  } catch (error) {
    if (isRefusal(error) && error.reason === SIGN_IN_TOO_WEAK) await ports.refusals.record(signInRefused(error.reason, user, caller));
    throw error;
  }
}

/**
 * Signs a user in and starts a session. Every failed sign-in leaves the same trace, so that none shows whether the account exists.
 * @throws {Refusal} unauthenticated, too_many_requests, temporarily_unavailable; forbidden while the address must be proved first
 */
async function signInBy(
  authenticator: "password" | "passkey",
  prove: (use: UseProof<NewSession | HalfSignedIn>) => Promise<ProofOutcome<NewSession | HalfSignedIn>>,
  ports: AccountPorts,
  caller: Caller,
): Promise<NewSession | HalfSignedIn> {
  const outcome = await prove(async (proved) => {
    const { user, hasSecondFactor, generation } = proved.account;
    if (needsProof(user, ports.signUpPolicy)) {
      await ports.refusals.record(signInRefused(EMAIL_UNVERIFIED, user, caller));
      throw new Refusal("forbidden", EMAIL_UNVERIFIED, { description: "Confirm your e-mail address first, by the link in the mail." });
    }
    if (hasSecondFactor && generation !== undefined) return user.enabled ? { userId: user.id, generation, upstream: null } : undefined;
    return startSession(proved, authenticator, ports, caller);
  });
  if (outcome.kind === "proved") return outcome.result;
  await ports.refusals.record(signInRefused(outcome.reason, outcome.user, caller));
  throw new Refusal("unauthenticated", outcome.reason, { description: REFUSED[authenticator] });
}

/** The description of every refusal, whatever its reason. */
const REFUSED = { password: "Wrong e-mail address or password.", passkey: "The passkey was not accepted." };

/**
 * Signs in a user who has just opened the account, without asking for the password again.
 * @param reason of the audit record
 * @throws {Refusal} unauthenticated where the password was changed or the account disabled since
 */
export async function signInNewcomer(
  account: Pick<Account, "user" | "generation">,
  reason: "sign_up" | "invitation",
  ports: AccountPorts,
  caller: Caller,
): Promise<NewSession> {
  const session = await startSession({ account, ...BY_PASSWORD }, reason, ports, caller);
  if (session === undefined) throw new Refusal("unauthenticated", "account_disabled", { description: REFUSED.password });
  return session;
}

/** Signs a user in by password: {@link signInBy}. */
export const signIn = (credentials: Credentials, ports: AccountPorts, caller: Caller): Promise<NewSession | HalfSignedIn> =>
  signInBy("password", (use) => proveByPassword(credentials, ports, caller, use), ports, caller);

/** Seconds in which the token of a sign-in for one call must be issued. */
const ONE_CALL = 30;

/** For a sign-in of a program, which cannot set up anything stronger. */
export const forProgram = <Ports extends AccountPorts>(ports: Ports): Ports => {
  const { sessions } = ports;
  return { ...ports, sessions: { ...sessions, start: (session, audit) => sessions.start({ ...session, asDemanded: true }, audit) } };
};

/** For a sign-in for one call of a program: the session serves to issue one token, with which it ends. */
export const forOneCall = <Ports extends AccountPorts>(ports: Ports): Ports => {
  const { sessions } = ports;
  return { ...ports, sessionTtl: ONE_CALL, sessions: { ...sessions, start: (session) => sessions.start(session, undefined) } };
};

/** Signs a user in by passkey, which needs no second factor: {@link signInBy}. */
export const signInByPasskey = async (proof: PasskeyProof, ports: AccountPorts, caller: Caller): Promise<NewSession> =>
  (await signInBy("passkey", (use) => proveByPasskey(proof, ports, caller, use), ports, caller)) as NewSession; // no password, so never half

/** The methods of a sign-in by another provider. */
export const FEDERATED: readonly string[] = ["fed"];

/**
 * Completes a sign-in by password or another provider with a code of the authenticator app, or a recovery code.
 * @throws {Refusal} unauthenticated, also when the password was changed or the identity unlinked since, or the provider has signed the user
 *   out; too_many_requests
 */
export async function completeSignIn(
  { userId, generation, upstream, half }: HalfSignedIn,
  code: string,
  ports: AccountPorts,
  caller: Caller,
): Promise<NewSession> {
  const user = await ports.users.byId(userId);
  if (user === undefined) throw signInOver();
  const waits = async () => half === undefined || (await ports.challenges.byId(half, "second_factor")) !== undefined;
  const account = { user, ...(generation !== null && { generation }) };
  const start = ({ factor, ...proved }: TwoFactorProof) =>
    startSession({ account, ...proved, ...(upstream && { upstream }) }, "second_factor", ports, caller, { half, factor });
  const first = upstream === null ? BY_PASSWORD.amr : FEDERATED;
  return enterBySecondFactor(user, code, first, { waits, start }, ports, caller).catch(async (error: unknown) => {
    if (isRefusal(error) && error.reason === SECOND_FACTOR_WRONG) await ports.refusals.record(signInRefused(error.reason, user, caller));
    throw error;
  });
}

/** Raises the session of a user who has just signed in by one factor. @throws {Refusal} unauthenticated, too_many_requests */
export async function raiseSession({ user, session }: SignedIn, code: string, ports: AccountPorts, caller: Caller): Promise<NewSession> {
  const waits = async () => caller.session !== undefined && (await ports.sessions.byHash(hashSecret(caller.session))) !== undefined;
  const start = (proof: TwoFactorProof) => raiseTo(user, proof, ports, caller);
  return enterBySecondFactor(user, code, session.amr, { waits, start }, ports, caller);
}

/** Raises a session to what was just proved in it. @throws {Refusal} unauthenticated when it has ended, or the user is disabled */
export async function raiseTo(
  user: User,
  { factor, ...proved }: { readonly acr: string; readonly amr: readonly string[] } & Pick<NewSessionRecord, "factor">,
  ports: AccountPorts,
  caller: Caller,
): Promise<NewSession> {
  const session = await startSession({ account: { user }, ...proved }, "second_factor", ports, caller, { raises: true, factor });
  if (session === undefined) throw signInOver();
  return session;
}
