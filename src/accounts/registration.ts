import { isRefusal, memberRefusal, type Refusal } from "../errors.ts";
import { hashSecret, newHexSecret, newId } from "../random.ts";
import type { AccountPorts } from "./account-ports.ts";
import { assertMayMail, assertWithin, auditOfUser, auditOrigin, type Caller, evenly } from "./caller.ts";
import { linkTokenHash, senderOf, unusableLink, verificationMail } from "./mails.ts";
import { assertGoodPassword } from "./password-rules.ts";
import type { Account, NewVerification, User, Users } from "./ports.ts";
import { assertMaySignUp, roleOfSignUp } from "./sign-up-policy.ts";

const VERIFICATION_HOURS = 24;

export type NewName = { readonly firstName?: string | undefined; readonly lastName?: string | undefined };

export interface SignUp extends NewName {
  readonly email: string;
  readonly password: string;
  readonly realmId?: string | undefined;
}

function newVerification(email: string, realmId: string | undefined, ports: AccountPorts, { language }: Caller) {
  const token = newHexSecret(ports.randomBytes);
  const verification: NewVerification = { tokenHash: hashSecret(token), ttl: VERIFICATION_HOURS * 60 * 60 };
  return { verification, mail: { to: email, ...verificationMail(language, senderOf(ports, realmId), token, VERIFICATION_HOURS) } };
}

async function realmOf(realmId: string | undefined, realms: AccountPorts["realms"]): Promise<string> {
  if (realmId === undefined) return (await realms.default()).id;
  const realm = await realms.byId(realmId.toLowerCase());
  if (realm) return realm.id;
  throw memberRefusal("invalid_request", "realm_unknown", "realmId", "There is no such realm.");
}

/**
 * Creates an account with an unverified address, and queues the verification mail.
 * @throws {Refusal} forbidden by SIGN_UP, invalid_request for a bad password or realm, conflict for an address that is taken,
 *   too_many_requests
 * @see docs/protocol.md#accounts
 */
export async function register(signUp: SignUp, ports: AccountPorts, caller: Caller): Promise<User> {
  const { users, passwords, signUps, signUpPolicy, clock, randomBytes } = ports;
  assertMaySignUp(signUp.email, signUpPolicy);
  await assertGoodPassword(signUp.password, signUp.email);
  await assertWithin(signUps, caller.limitKey);
  const realmId = await realmOf(signUp.realmId, ports.realms);
  const id = newId(clock, randomBytes);
  const { verification, mail } = newVerification(signUp.email, signUp.realmId, ports, caller);
  const user = await users.register(
    {
      id,
      email: signUp.email,
      realmId,
      firstName: signUp.firstName?.trim() || null,
      lastName: signUp.lastName?.trim() || null,
      role: roleOfSignUp(signUpPolicy),
      emailVerified: false,
      passwordHash: await passwords.hash(signUp.password, caller.limitKey),
    },
    verification,
    mail,
    auditOfUser("user.registered", id, caller),
  );
  if (user) return user;
  throw emailTaken();
}

/** The refusal of an address that has an account. */
export const emailTaken = (): Refusal =>
  memberRefusal("conflict", "email_taken", "email", "There is already an account with this e-mail address.");

/** A new account, whose user has just chosen the password. */
export type NewAccount = Pick<Account, "user" | "generation">;

/** Seconds in which a repeated sign-up counts as a double click: too few to guess a password by. */
const REPEAT_WINDOW = 30;

/** Like `register`, for forms: a form that is sent twice succeeds twice, with one account and one mail. */
export async function registerOnce(signUp: SignUp, ports: AccountPorts, caller: Caller): Promise<NewAccount> {
  try {
    return { user: await register(signUp, ports, caller), generation: 0 };
  } catch (error) {
    if (!isRefusal(error) || error.reason !== "email_taken") throw error;
    const account = await ports.users.byEmail(signUp.email);
    if (!account || ports.clock() - account.user.createdAt > REPEAT_WINDOW) throw error;
    if ((await ports.passwords.verify(account.passwordHash, signUp.password, caller.limitKey)).kind === "wrong") throw error;
    return account;
  }
}

/**
 * Sends the verification mail again, if there is an unverified account. Limits and duration are the same for an unknown address.
 * @throws {Refusal} too_many_requests @see docs/protocol.md#accounts
 */
export async function resendVerification(email: string, ports: AccountPorts, caller: Caller): Promise<void> {
  await assertMayMail(email, caller, ports.resendLimits, ports.knownDevices);
  const work = async () => {
    const account = await ports.users.byEmail(email);
    const { verification, mail } = newVerification(account?.user.email ?? email, account?.user.realmId, ports, caller);
    if (account && !account.user.emailVerified) await ports.users.issueVerification(account.user.id, verification, mail);
  };
  await evenly(work());
}

/**
 * Marks the address of a token as verified.
 * @param again whether a used token is good too: a scanner of mails may open a link before its reader does
 * @throws {Refusal} invalid_request for a malformed, unknown, used or expired token
 */
export async function verifyEmail(token: string, users: Users, caller: Caller, again: boolean): Promise<User> {
  const tokenHash = linkTokenHash(token, "verification_malformed");
  const user = (await users.verifyEmail(tokenHash, auditOrigin(caller))) ?? (again ? await users.verifiedBy(tokenHash) : undefined);
  if (!user) throw unusableLink("verification_unusable");
  return user;
}
