import type { SignedIn } from "../accounts/ports.ts";
import type { Authorization } from "../gen/countersign/token/v1/token_pb.ts";

/** What a good authorization request needs next. */
export type Step =
  | { readonly kind: "sign_in" }
  | { readonly kind: "consent" }
  | { readonly kind: "issue" }
  | { readonly kind: "refuse"; readonly error: "login_required" | "consent_required"; readonly description: string };

const loginRequired = (description: string): Step => ({ kind: "refuse", error: "login_required", description });

/**
 * The next step of an authorization request. Pure.
 * @param askedAt seconds since the epoch at which the request was first seen, where it has waited: a sign-in since then is a new one
 * @param now seconds since the epoch
 * @see OIDC Core §3.1.2.1 (prompt, max_age, id_token_hint), §3.1.2.3
 */
export function nextStep(authorization: Authorization, signedIn: SignedIn | undefined, askedAt: number | undefined, now: number): Step {
  const silent = authorization.prompt.includes("none");
  if (!signedIn || needsNewSignIn(authorization, signedIn.session.authTime, askedAt, now)) {
    return silent ? loginRequired("The person has to sign in.") : { kind: "sign_in" };
  }
  if (authorization.hintedSub !== undefined && authorization.hintedSub !== signedIn.user.id) {
    return loginRequired("Another person is signed in.");
  }
  if (!authorization.consentRequired && !authorization.prompt.includes("consent")) return { kind: "issue" };
  if (silent) return { kind: "refuse", error: "consent_required", description: "The person has to consent." };
  return { kind: "consent" };
}

function needsNewSignIn({ prompt, maxAge }: Authorization, authTime: number, askedAt: number | undefined, now: number): boolean {
  if (askedAt !== undefined && authTime >= askedAt) return false;
  if (prompt.includes("login") || prompt.includes("select_account")) return true;
  // `max_age=0` asks for a new sign-in even within the same second.
  return maxAge !== undefined && (maxAge === 0 || now - authTime > maxAge);
}
