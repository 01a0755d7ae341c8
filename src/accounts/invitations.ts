import type { AuditEntry } from "../audit.ts";
import { memberRefusal, Refusal } from "../errors.ts";
import type { Page, Part } from "../paging.ts";
import { hashSecret, newHexSecret, newId } from "../random.ts";
import type { Language } from "../texts/languages.ts";
import type { AccountPorts } from "./account-ports.ts";
import { accountName, auditOfUser, type Caller } from "./caller.ts";
import { invitationMail, linkTokenHash, type MailSenderPorts, senderOf, unusableLink } from "./mails.ts";
import { assertGoodPassword } from "./password-rules.ts";
import type { Role, User } from "./ports.ts";
import { emailTaken } from "./registration.ts";

/** An invitation whose link still works. Times in seconds since the epoch, with their fraction. */
export interface SentInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
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
  const link = { email: null, role: "operator", tokenHash: hashSecret(token), ttl: FIRST_OPERATOR_MINUTES * 60, inviterId: null } as const;
  const actor = { type: "service", id: "start" } as const;
  await invitations.issue(link, undefined, { event: "user.invited", outcome: "success", reason: "first_operator", actor });
  return `${issuer}/setup?token=${token}`;
}

export interface Invite {
  readonly inviterId: string | null;
  readonly email: string;
  readonly role: Role;
  /** Hours in which the link works. */
  readonly hours: number;
  readonly language: Language;
}

/**
 * Sends a link by which the user of an address opens an account. An earlier link to the address stops working.
 * @throws {Refusal} conflict for an address with an account, forbidden when the inviter is no longer an enabled operator
 */
export async function invite(
  { inviterId, email, role, hours, language }: Invite,
  { invitations, randomBytes, ...ports }: Pick<AccountPorts, "invitations" | "randomBytes"> & MailSenderPorts,
  audit: AuditEntry,
): Promise<void> {
  const token = newHexSecret(randomBytes);
  const link = { email, role, tokenHash: hashSecret(token), ttl: hours * 60 * 60, inviterId };
  const outcome = await invitations.issue(link, invitationMail(language, senderOf(ports, undefined), token, hours), audit);
  if (outcome === undefined) throw new Refusal("forbidden", "not_an_operator", { description: "This is for operators." });
  if (outcome === "taken") throw emailTaken();
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
