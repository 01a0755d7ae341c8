import type { RandomBytes } from "../clock.ts";
import { isRefusal, Refusal } from "../errors.ts";
import { hashSecret, newHexSecret, type SecretHash } from "../secret.ts";
import { passwordChangedMail, resetMail } from "./mails.ts";
import type { PasswordAttempts } from "./password-attempts.ts";
import type { PasswordHashing } from "./password-hash.ts";
import type { PasswordChanges } from "./password-ports.ts";
import { assertGoodPassword } from "./password-rules.ts";
import type { User } from "./ports.ts";
import { assertMayMail, evenly, type MailLimits } from "./rates.ts";
import { type Caller, whence } from "./sessions.ts";

/** The link for a forgotten password works for half an hour. */
const RESET_MINUTES = 30;

export interface ForgottenPasswordPorts {
  readonly passwordChanges: PasswordChanges;
  readonly passwords: PasswordHashing;
  readonly attempts: PasswordAttempts;
  readonly forgottenLimits: MailLimits;
  readonly randomBytes: RandomBytes;
  /** Base URL of the service: links are built from it and from nothing that a request says. */
  readonly issuer: string;
}

/**
 * Sends a link for a new password, if there is an account with this address. What the caller sees says nothing about that: the limits count
 * alike, and the work is the same.
 * @throws {Refusal} too_many_requests
 */
export async function forgotPassword(email: string, ports: ForgottenPasswordPorts, caller: Caller): Promise<void> {
  await assertMayMail(email, caller.limitKey, ports.forgottenLimits);
  const token = newHexSecret(ports.randomBytes);
  const issued = ports.passwordChanges.issueReset(
    email,
    { tokenHash: hashSecret(token), ttl: RESET_MINUTES * 60 },
    resetMail(caller.language, ports.issuer, token, RESET_MINUTES),
    {
      event: "password.reset_requested",
      outcome: "success",
      actor: { type: "service", id: "forgotten-password" }, // nobody has proved to be the person
      ...whence(caller),
    },
  );
  await evenly(issued);
}

const RESET_TOKEN = /^[0-9a-fA-F]{64}$/;

const unusable = (reason: string) =>
  new Refusal("invalid_request", reason, { description: "This link is not valid, has been used already or has expired." });

/** Whether it is the link that is at fault. */
export const isStaleReset = (error: unknown): boolean =>
  isRefusal(error) && (error.reason === "reset_malformed" || error.reason === "reset_unusable");

/** What a token of the right form is stored as. @throws {Refusal} invalid_request */
function tokenHashOf(token: string): SecretHash {
  if (!RESET_TOKEN.test(token)) throw unusable("reset_malformed");
  return hashSecret(token.toLowerCase());
}

/**
 * Whose link it is; it stays unused.
 * @throws {Refusal} invalid_request for a token that is malformed, unknown, used or expired
 */
export async function ownerOfReset(token: string, { passwordChanges }: Pick<ForgottenPasswordPorts, "passwordChanges">): Promise<User> {
  const user = await passwordChanges.ownerOfReset(tokenHashOf(token));
  if (!user) throw unusable("reset_unusable");
  return user;
}

/**
 * Uses the link up and sets the password. Every session and refresh family of the person ends, and she is told by mail. A password that is
 * refused leaves the link as it was.
 * @throws {Refusal} invalid_request for a token that is malformed, unknown, used or expired, and for a bad password;
 * temporarily_unavailable
 */
export async function resetPassword(token: string, password: string, ports: ForgottenPasswordPorts, caller: Caller): Promise<User> {
  const owner = await ownerOfReset(token, ports);
  await assertGoodPassword(password, owner.email);
  const user = await ports.passwordChanges.reset(
    tokenHashOf(token),
    await ports.passwords.hash(password, caller.limitKey),
    passwordChangedMail(caller.language, ports.issuer),
    {
      event: "password.changed",
      outcome: "success",
      reason: "by_mail",
      actor: { type: "user", id: owner.id },
      userId: owner.id,
      ...whence(caller),
    },
  );
  if (!user) throw unusable("reset_unusable");
  await ports.attempts.clear(user.email, caller); // a user who forgot the password has failed a few times
  return user;
}
