import type { AuditEntry } from "../audit.ts";
import { isRefusal, memberRefusal, Refusal } from "../errors.ts";
import type { Page, Part } from "../paging.ts";
import { hashSecret, newHexSecret, newId } from "../random.ts";
import { type Language, shownDuration } from "../texts/languages.ts";
import type { AccountPorts } from "./account-ports.ts";
import { accountName, assertMayMail, assertWithin, auditOfUser, auditOrigin, type Caller, evenly } from "./caller.ts";
import { linkTokenHash, type MailSenderPorts, mailedLink, unusableLink } from "./mails.ts";
import { assertGoodPassword } from "./password-rules.ts";
import type { Account, Role, User, Users } from "./ports.ts";
import { assertMaySignUp, roleOfSignUp } from "./sign-up-policy.ts";

const VERIFICATION_HOURS = 24;

export type NewName = { readonly firstName?: string | undefined; readonly lastName?: string | undefined };

export interface SignUp extends NewName {
  readonly email: string;
  readonly password: string;
  readonly realmId?: string | undefined;
}

function newVerification(email: string, realmId: string | undefined, ports: AccountPorts, { language }: Caller) {
  const { mail, ...verification } = mailedLink("verification", VERIFICATION_HOURS * 3600, ports, { realmId }, language, VERIFICATION_HOURS);
  return { verification, mail: { to: email, ...mail } };
}

/** The realm that is named, or the default one. @throws {Refusal} invalid_request for an unknown realm */
async function realmOf(realmId: string | undefined, realms: AccountPorts["realms"]): Promise<string> {
  if (realmId === undefined) return (await realms.default()).id;
  const realm = await realms.byId(realmId.toLowerCase());
  if (realm) return realm.id;
  throw realmUnknown();
}

/** The refusal of a realm that does not exist, or has just been removed. */
export const realmUnknown = (): Refusal => memberRefusal("invalid_request", "realm_unknown", "realmId", "There is no such realm.");

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
  const { verification, mail } = newVerification(signUp.email, realmId, ports, caller);
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

/** An invitation whose link still works. Times in seconds since the epoch, with their fraction. */
export interface SentInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  /** The realm in which it opens the account. */
  readonly realmId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export const INVITATION_SORTS = ["created", "email", "expires"] as const;
export type InvitationSort = (typeof INVITATION_SORTS)[number];

/** The invitations of operators, not the link for the first one. */
export interface SentInvitations {
  /** Newest first, unless sorted otherwise. @param search a part of the address, or an id */
  list(search: string | undefined, part: Part<InvitationSort>): Promise<Page<SentInvitation>>;
  /** Its link stops working, and its mail is not sent any more. @returns the address; undefined when there is no such invitation, or it was just accepted */
  withdraw(id: string, audit: AuditEntry): Promise<string | undefined>;
}

/** Minutes in which the link for the first operator works. */
export const FIRST_OPERATOR_MINUTES = 15;

/** A link by which the first operator opens the account; undefined where there is an operator. Earlier links stop working. */
export async function firstOperatorLink({
  invitations,
  randomBytes,
  issuer,
}: Pick<AccountPorts, "invitations" | "randomBytes" | "issuer">): Promise<string | undefined> {
  if (await invitations.hasOperator()) return undefined;
  const token = newHexSecret(randomBytes);
  const tokenHash = hashSecret(token);
  const link = { email: null, role: "operator", realmId: null, tokenHash, ttl: FIRST_OPERATOR_MINUTES * 60, inviterId: null } as const;
  const actor = { type: "service", id: "start" } as const;
  await invitations.issue(link, undefined, { event: "user.invited", outcome: "success", reason: "first_operator", actor });
  return `${issuer}/setup?token=${token}`;
}

export interface Invite {
  readonly inviterId: string | null;
  readonly email: string;
  readonly role: Role;
  /** Absent: that of the open invitation to the address, which this one replaces; else the default realm. */
  readonly realmId?: string | undefined;
  /** Hours in which the link works. */
  readonly hours: number;
  readonly language: Language;
}

/**
 * Sends a link by which the user of an address opens an account. An earlier link to the address stops working.
 * @returns the realm of the account
 * @throws {Refusal} conflict for an address with an account, invalid_request for an unknown realm, forbidden when the inviter is no longer an
 *   enabled operator
 */
export async function invite(
  { inviterId, email, role, realmId: named, hours, language }: Invite,
  { invitations, realms, ...ports }: Pick<AccountPorts, "invitations" | "realms" | "randomBytes"> & MailSenderPorts,
  audit: AuditEntry,
): Promise<string> {
  const ttl = hours * 3600;
  const realmId = await realmOf(named ?? (await invitations.realmOf(email)), realms);
  const { mail, ...link } = mailedLink("invitation", ttl, ports, { realmId }, language, shownDuration(language, ttl));
  const outcome = await invitations.issue({ ...link, email, role, realmId, inviterId }, mail, audit);
  if (outcome === undefined) throw new Refusal("forbidden", "not_an_operator", { description: "This is for operators." });
  if (outcome === "taken") throw emailTaken();
  if (outcome === "realm_unknown") throw realmUnknown();
  return realmId;
}

/** The invitation of a link, which stays unused. @throws {Refusal} invalid_request for a malformed, unknown, used or expired token */
export async function invitationOf(token: string, { invitations }: Pick<AccountPorts, "invitations">) {
  const invitation = await invitations.byToken(linkTokenHash(token, INVITATION_UNUSABLE));
  if (!invitation) throw unusableLink(INVITATION_UNUSABLE);
  return invitation;
}

/** The reason of a link that is malformed, unknown, used or expired. */
export const INVITATION_UNUSABLE = "invitation_unusable";

/**
 * Opens the account of an invitation with a verified address.
 * @param newcomer with the address as the user typed it; it must be the invited one
 * @throws {Refusal} invalid_request for a bad link, another address or a bad password; conflict for an address with an account
 * @see docs/protocol.md#who-may-sign-up
 */
export async function acceptInvitation(
  token: string,
  { email, password }: { readonly email: string; readonly password: string },
  ports: AccountPorts,
  caller: Caller,
): Promise<User> {
  const invited = await invitationOf(token, ports);
  if (invited.email !== null && accountName(invited.email) !== accountName(email))
    throw memberRefusal("invalid_request", "invitation_of_other_address", "email", "The invitation is for another e-mail address.");
  await assertGoodPassword(password, email);
  const id = newId(ports.clock, ports.randomBytes);
  const passwordHash = await ports.passwords.hash(password, caller.limitKey);
  const reason = invited.email === null ? "first_operator" : "invited";
  const audit = auditOfUser("user.registered", id, caller, { reason });
  const user = await ports.invitations.accept(linkTokenHash(token, INVITATION_UNUSABLE), { id, email, passwordHash }, audit);
  if (user === undefined) throw unusableLink(INVITATION_UNUSABLE);
  if (user === "taken") throw emailTaken();
  return user;
}
