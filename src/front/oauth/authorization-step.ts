import type { SignedIn } from "../../accounts/ports.ts";
import type { Authorization } from "../../gen/countersign/token/v1/token_pb.ts";

/** What a valid authorization request needs next. */
export type Step =
  | { readonly kind: "sign_in" }
  | { readonly kind: "consent" }
  | { readonly kind: "issue" }
  | { readonly kind: "refuse"; readonly error: "login_required" | "consent_required"; readonly description: string };

const loginRequired = (description: string): Step => ({ kind: "refuse", error: "login_required", description });

/**
 * The next step of an authorization request. Pure.
 * @param renewed whether the user has signed in since the request was first seen  @param now seconds since the epoch
 * @see OIDC Core §3.1.2.1 (prompt, max_age, id_token_hint), §3.1.2.3
 */
export function nextStep(authorization: Authorization, signedIn: SignedIn | undefined, renewed: boolean, now: number): Step {
  const silent = authorization.prompt.includes("none");
  if (!signedIn || (!renewed && needsNewSignIn(authorization, now - signedIn.session.authTime))) {
    return silent ? loginRequired("The user must sign in.") : { kind: "sign_in" };
  }
  if (authorization.hintedSub !== undefined && authorization.hintedSub !== signedIn.user.id) {
    return loginRequired("Another user is signed in.");
  }
  if (!authorization.consentRequired && !authorization.prompt.includes("consent")) return { kind: "issue" };
  if (silent) return { kind: "refuse", error: "consent_required", description: "The user must consent." };
  return { kind: "consent" };
}

function needsNewSignIn({ prompt, maxAge }: Authorization, age: number): boolean {
  if (prompt.includes("login") || prompt.includes("select_account")) return true;
  // `max_age=0` asks for a new sign-in even within the same second.
  return maxAge !== undefined && (maxAge === 0 || age > maxAge);
}
