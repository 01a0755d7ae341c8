import { Refusal } from "../errors.ts";

/** Visible ASCII without `"` and `\` (RFC 6749 §3.3). */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;
const SCOPE_TOKENS = /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/;

export const isScopeToken = (text: string): boolean => SCOPE_TOKEN.test(text);

/** The scope parameter as a list without repeats, in the order sent. @throws {Refusal} invalid_scope @see RFC 6749 §3.3 */
export function parseScope(scope = ""): readonly string[] {
  if (!SCOPE_TOKENS.test(scope))
    throw new Refusal("invalid_scope", "scope_malformed", {
      description: "scope must be names of visible ASCII characters without quote and backslash, separated by spaces.",
    });
  return [...new Set(scope.match(/[^ ]+/g))];
}

export const printScope = (scopes: readonly string[]): string => scopes.join(" ");
