import { Refusal } from "../errors.ts";
import { loadOnce } from "../load-once.ts";

const MIN_LENGTH = 8;
const MAX_LENGTH = 128;

/** The form in which a password is judged and hashed: what two keyboards produce for the same letters is the same password. */
export const normalizePassword = (password: string): string => password.normalize("NFKC");

const refuse = (reason: string, message: string) =>
  new Refusal("invalid_request", reason, { description: message, issues: [{ path: "password", message }] });

/** Passwords that guessers try first. Loaded at the first registration, for most processes never need them. */
const loadCommonPasswords = loadOnce(async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"].filter((password) => password.length >= MIN_LENGTH));
});

/**
 * The rules for a new password: long enough, and nothing that is guessed first. No rules of composition.
 * Pure but for the list, which is the caller's.
 * @param common lower-case passwords that are refused
 * @throws {Refusal} invalid_request with the reason in words for the person
 * @see NIST SP 800-63B-4 §3.1.1.2
 */
export function judgePassword(password: string, email: string, common: ReadonlySet<string>): void {
  const normalized = normalizePassword(password);
  const length = [...normalized].length;
  if (length < MIN_LENGTH) throw refuse("password_short", `Choose a password of at least ${MIN_LENGTH} characters.`);
  if (length > MAX_LENGTH) throw refuse("password_long", `Choose a password of at most ${MAX_LENGTH} characters.`);
  const lower = normalized.toLowerCase();
  const address = email.normalize("NFKC").toLowerCase();
  if (lower === address || lower === address.slice(0, address.lastIndexOf("@"))) {
    throw refuse("password_is_email", "Choose a password that is not your e-mail address.");
  }
  if (common.has(lower))
    throw refuse("password_common", "This password is on the list of those that are guessed first. Choose another one.");
}

/** {@link judgePassword} with the list of common passwords. @throws {Refusal} invalid_request */
export async function assertGoodPassword(password: string, email: string): Promise<void> {
  // The length is judged first, so that an oversized password costs nothing.
  judgePassword(password, email, new Set());
  judgePassword(password, email, await loadCommonPasswords());
}
