import { memberRefusal, Refusal } from "../errors.ts";
import type { Role, User } from "./ports.ts";

/** Who may make clients (DEVELOPERS): every user, those with the role developer, or operators alone. */
export type DeveloperRule = "all" | "role" | "operators";

/** Who may open an account (SIGN_UP), and with which role. */
export interface SignUpPolicy {
  readonly mode: "open" | "domains" | "invited" | "closed";
  /** The domains of addresses in mode `domains`, in lower case. */
  readonly domains: readonly string[];
  readonly developers: DeveloperRule;
}

/** Whether the sign-up page has a form. Pure. */
export const hasSignUp = ({ mode }: SignUpPolicy): boolean => mode === "open" || mode === "domains";

export const roleOfSignUp = ({ developers }: Pick<SignUpPolicy, "developers">): Role => (developers === "all" ? "developer" : "user");

export const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1).toLowerCase();

/**
 * Checks that an address may open an account by itself. A subdomain is another domain.
 * @throws {Refusal} forbidden @see docs/protocol.md#who-may-sign-up
 */
export function assertMaySignUp(email: string, policy: SignUpPolicy): void {
  const { mode } = policy;
  if (mode === "closed") throw new Refusal("forbidden", "sign_up_closed", { description: "Operators create the accounts of this server." });
  if (mode === "invited") throw new Refusal("forbidden", "sign_up_invited", { description: "An account here needs an invitation." });
  assertDomain(email, policy);
}

/** Checks that an account may have an address, as one that its user changes to. @throws {Refusal} forbidden */
export function assertDomain(email: string, { mode, domains }: SignUpPolicy): void {
  if (mode === "domains" && !domains.includes(domainOf(email)))
    throw memberRefusal("forbidden", "sign_up_domain", "email", "Addresses of this domain cannot open an account here.");
}

/**
 * Whether a user must prove the address before signing in: where its domain decides who may have an account, an unproved address counts for
 * nothing. Pure. @see docs/protocol.md#who-may-sign-up
 */
export const needsProof = ({ emailVerified }: Pick<User, "emailVerified">, { mode }: SignUpPolicy): boolean =>
  mode === "domains" && !emailVerified;

/** The reason of a sign-in that waits for that proof. */
export const EMAIL_UNVERIFIED = "email_unverified";
