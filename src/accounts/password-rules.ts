import { memberRefusal } from "../errors.ts";
import { loadOnce } from "../load-once.ts";

const MIN_LENGTH = 8;
const MAX_LENGTH = 128;

/** The form in which a password is checked and hashed. Two keyboards may encode the same letters differently. */
export const normalizePassword = (password: string): string => password.normalize("NFKC");

const refuse = (reason: string, message: string) => memberRefusal("invalid_request", reason, "password", message);

/** Common passwords, loaded at the first registration: most processes never need them. */
const loadCommonPasswords = loadOnce(async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"].filter((password) => password.length >= MIN_LENGTH));
});

/** Checks length, e-mail address and common passwords (lower case). @throws {Refusal} invalid_request @see NIST SP 800-63B-4 §3.1.1.2 */
export function checkPassword(password: string, email: string, common: ReadonlySet<string>): void {
  const normalized = normalizePassword(password);
  const length = [...normalized].length;
  if (length < MIN_LENGTH) throw refuse("password_short", `Choose a password of at least ${MIN_LENGTH} characters.`);
  if (length > MAX_LENGTH) throw refuse("password_long", `Choose a password of at most ${MAX_LENGTH} characters.`);
  const lower = normalized.toLowerCase();
  const address = email.normalize("NFKC").toLowerCase();
  if (lower === address || lower === address.slice(0, address.lastIndexOf("@"))) {
    throw refuse("password_is_email", "Choose a password that is not your e-mail address.");
  }
  if (common.has(lower)) throw refuse("password_common", "This password is too easy to guess. Choose another one.");
}

/** {@link checkPassword} with the list of common passwords. @throws {Refusal} invalid_request */
export async function assertGoodPassword(password: string, email: string): Promise<void> {
  // The length is checked first, so that an oversized password costs nothing.
  checkPassword(password, email, new Set());
  checkPassword(password, email, await loadCommonPasswords());
}
