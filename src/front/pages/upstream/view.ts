import { SESSION_ENDED } from "../../../accounts/sessions.ts";
import { EMAIL_UNVERIFIED, hasSignUp, type SignUpPolicy } from "../../../accounts/sign-up-policy.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { noticeView, wideLink } from "../views/cards.ts";
import { type HostedPage, html, type ReturnTo, type Site } from "../views/layout.ts";

interface FailedSignIn {
  /** Of the provider. */
  readonly title: string;
  readonly reason: string;
  /** Whether the user was linking an identity. */
  readonly linking: boolean;
  /** Whether a provider that cannot ask a user again does where none is signed in. */
  readonly signOutHelps: boolean;
  readonly returnTo: ReturnTo;
}

/** The provider did not sign the user in. */
export function failedView(site: Site, language: Language, page: FailedSignIn): HostedPage {
  const { linking, returnTo } = page;
  const { failed, toSignIn, toSecurity } = TEXTS[language].upstream;
  const more = linking ? wideLink(site.path("/account/security"), toSecurity) : wideLink(site.path("/login", returnTo), toSignIn);
  return noticeView(site, language, { tone: "bad", title: failed.title(page.title), text: failedText(site, language, page), more });
}

function failedText({ host }: Site, language: Language, { title, reason, signOutHelps }: FailedSignIn): string {
  const { failed } = TEXTS[language].upstream;
  if (reason === "upstream_denied") return failed.denied(title);
  if (reason === "upstream_unreachable") return failed.unreachable(title);
  if (reason === "account_disabled") return failed.disabled(host);
  if (reason === "upstream_cannot_confirm") return signOutHelps ? failed.signOutFirst(title) : failed.cannotConfirm(title);
  if (reason === EMAIL_UNVERIFIED) return TEXTS[language].refusals.reasons.email_unverified;
  if (reason === SESSION_ENDED) return failed.sessionEnded(title);
  return reason === "identity_taken" ? failed.taken(title) : failed.refused(title);
}

interface NotLinked {
  readonly kind: "link_first" | "no_account";
  /** Of the provider. */
  readonly title: string;
  readonly returnTo: ReturnTo;
  readonly policy: SignUpPolicy;
}

/** The identity belongs to no account: an address alone leads into none. */
export function notLinkedView(site: Site, language: Language, { kind, title, returnTo, policy }: NotLinked): HostedPage {
  const texts = TEXTS[language].upstream;
  const words = kind === "link_first" ? texts.linkFirst : texts.noAccount;
  const signUp = kind === "no_account" && hasSignUp(policy);
  const more = html`<div class="ways">
${wideLink(site.path("/login", returnTo), texts.toSignIn)}
${signUp && html`<a class="button button-quiet button-wide" href="${site.path("/signup", returnTo)}">${texts.createAccount}</a>`}
</div>`;
  return noticeView(site, language, { tone: "plain", title: words.title, text: words.text(title), more });
}
