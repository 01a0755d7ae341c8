import type { AuditEntry } from "../audit.ts";
import { isRefusal, Refusal } from "../errors.ts";
import { hashSecret } from "../random.ts";
import type { Language } from "../texts/languages.ts";
import type { AccountPorts } from "./account-ports.ts";
import { assertMayMail, auditOfUser, auditOrigin, type Caller, evenly } from "./caller.ts";
import { linkTokenHash, type MailSenderPorts, mailedLink, mailOf, unusableLink } from "./mails.ts";
import { assertGoodPassword } from "./password-rules.ts";
import type { User } from "./ports.ts";
import { newSession } from "./sign-in.ts";

/**
 * Sets the password of a user who has just proved that it is them, also the first one. Ends every session and refresh family, starts a new
 * session, and notifies the user by mail.
 * @param session the value of the cookie of the session with the proof
 * @returns the value of the new session's cookie
 * @throws {Refusal} invalid_request, temporarily_unavailable; conflict if the password was changed since
 */
export async function changePassword(user: User, password: string, session: string, ports: AccountPorts, caller: Caller): Promise<string> {
  const { passwordChanges, passwords } = ports;
  await assertGoodPassword(password, user.email);
  const { secret, record } = newSession(user.id, ports, caller);
  const passwordHash = await passwords.hash(password, caller.limitKey);
  const started = await passwordChanges.change(
    { provedBy: hashSecret(session), passwordHash, session: record },
    mailOf("passwordChanged", ports, user, caller),
    {
      change: auditOfUser("password.changed", user.id, caller, { reason: "by_owner" }),
      session: auditOfUser("session.started", user.id, caller, { reason: "password_changed" }),
    },
  );
  if (started) return secret;
  throw new Refusal("conflict", "password_changed_since", { description: "The password was changed by another request. Try again." });
}

const RESET_MINUTES = 30;

/** Sends a link for a new password. Limits and work are the same for an unknown address. @throws {Refusal} too_many_requests */
export async function forgotPassword(email: string, ports: AccountPorts, caller: Caller): Promise<void> {
  await assertMayMail(email, caller, ports.forgottenLimits, ports.knownDevices);
  const issue = async () => {
    const realmId = (await ports.users.byEmail(email))?.user.realmId;
    await sendReset({ email, realmId }, caller.language, ports, {
      event: "password.reset_requested",
      outcome: "success",
      actor: { type: "service", id: "forgotten-password" }, // the user has not proved anything yet
      ...auditOrigin(caller),
    });
  };
  await evenly(issue());
}

/** Sends a link for a new password to the enabled user of an address, if there is one. An earlier link stops working. */
export async function sendReset(
  user: { readonly email: string; readonly realmId: string | undefined },
  language: Language,
  ports: MailSenderPorts &
    Pick<AccountPorts, "randomBytes"> & { readonly passwordChanges: Pick<AccountPorts["passwordChanges"], "issueReset"> },
  audit: AuditEntry,
): Promise<void> {
  const { mail, ...link } = mailedLink("reset", RESET_MINUTES * 60, ports, user, language, RESET_MINUTES);
  await ports.passwordChanges.issueReset(user.email, link, mail, audit);
}

export const isStaleReset = (error: unknown): boolean =>
  isRefusal(error) && (error.reason === "reset_malformed" || error.reason === "reset_unusable");

const tokenHashOf = (token: string) => linkTokenHash(token, "reset_malformed");

/** The user of a link. The link stays unused. @throws {Refusal} invalid_request for a token that is malformed, unknown, used or expired */
export async function ownerOfReset(token: string, { passwordChanges }: Pick<AccountPorts, "passwordChanges">): Promise<User> {
  const user = await passwordChanges.ownerOfReset(tokenHashOf(token));
  if (!user) throw unusableLink("reset_unusable");
  return user;
}

/**
 * Consumes the link, sets the password, ends the user's sessions and refresh families, and notifies them.
 * @throws {Refusal} invalid_request for a malformed, unknown, used or expired token and for a bad password; temporarily_unavailable
 */
export async function resetPassword(token: string, password: string, ports: AccountPorts, caller: Caller): Promise<User> {
  const owner = await ownerOfReset(token, ports);
  await assertGoodPassword(password, owner.email);
  const user = await ports.passwordChanges.reset(
    tokenHashOf(token),
    await ports.passwords.hash(password, caller.limitKey),
    mailOf("passwordChanged", ports, owner, caller),
    auditOfUser("password.changed", owner.id, caller, { reason: "by_mail" }),
  );
  if (!user) throw unusableLink("reset_unusable");
  await ports.attempts.clear(user.email, caller); // a user who forgot the password has failed a few times
  return user;
}
