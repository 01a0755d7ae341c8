import { DONE_MEMBER } from "../done.ts";
import { sendRedirect } from "../http/answers.ts";
import { LANGUAGE_MEMBER, rememberChosen } from "../http/caller.ts";
import { exceptHead, type Handler, type Method, pathText, queryText, type Route } from "../http/routes.ts";
import { accountPage, dataPage, profilePage, resendOwnPage, revokePage } from "./account/page.ts";
import { addressPage, confirmAddressPage, stopAddressPage } from "./address/page.ts";
import { agentsPage, endAgentPage, pauseAgentPage, resumeAgentPage } from "./agents/page.ts";
import { MARK, PAGE_SCRIPT, PASSKEY_SCRIPT, STYLE } from "./assets.ts";
import { BRAND_PATH, brandFilePage } from "./brand-files.ts";
import { ASK, consentPage } from "./consent/page.ts";
import { accountGonePage, deleteAccountPage } from "./delete-account/page.ts";
import { deviceDonePage, devicePage } from "./device/page.ts";
import { pageErrorPrinter } from "./errors.ts";
import { forgotPage, forgotSentPage, resetPage } from "./forgotten-password/page.ts";
import { PROVE_AGAIN, TOO_LATE } from "./fresh-proof.ts";
import { invitationPage } from "./invitation/page.ts";
import { type FormHandlers, type PageHandler, type PageKit, SET_UP, type Visit } from "./kit.ts";
import { appPage, beginAppPage, removeAppPage, renewCodesPage } from "./security/app.ts";
import { endOtherSessionsPage, endSessionPage, securityPage } from "./security/page.ts";
import { newPasskeyOptions, newPasskeyPage, removePasskeyPage, renamePasskeyPage } from "./security/passkeys.ts";
import { passwordPage } from "./security/password.ts";
import { setUpPage } from "./set-up/page.ts";
import { passkeyOptionsPage, passkeySignInPage, STEP_MEMBER, secondFactorPage, signInPage } from "./sign-in/page.ts";
import { signOutPage } from "./sign-out/page.ts";
import { resendPage, signUpPage, signUpSentPage } from "./sign-up/page.ts";
import { identitiesPage, upstreamCallbackPage, upstreamPage } from "./upstream/page.ts";
import { askedOf } from "./views/layout.ts";
import { CONFIRM_ADDRESS } from "./views/sections.ts";

/** Members that every page may have: where the user is going, and what they have just done. */
const COMMON = ["request", "next", DONE_MEMBER];

/**
 * The answer of a page. One that offers the other languages remembers the one in `lang`, and redirects to the same page without it.
 * @param members of the query that such a page needs in another language too; its links repeat nothing else of what was sent
 */
export const answerOf =
  <Kit extends PageKit>(kit: Kit, page: PageHandler<Kit & Visit>, members?: readonly string[]): Handler =>
  (ctx) => {
    if (members !== undefined) {
      const query = new URLSearchParams(queryText(ctx));
      const kept = new URLSearchParams([...query].filter(([name]) => members.includes(name)));
      const here = kit.site.path(pathText(ctx)) + (kept.size > 0 ? `?${kept}` : "");
      ctx.state.sameInLanguage = `${here}${kept.size > 0 ? "&" : "?"}${LANGUAGE_MEMBER}=`;
      const chosen = query.get(LANGUAGE_MEMBER);
      if (chosen !== null && rememberChosen(ctx, chosen, kit.cookies)) return sendRedirect(ctx, here);
    }
    return page(askedOf(kit, ctx));
  };

type Methods = { readonly [M in Method]?: PageHandler };
type Page = (path: string, methods: Methods) => readonly Route[];

/** The forms about passkeys and the second factor. */
const factorRoutes = (page: Page): readonly (readonly Route[])[] => [
  page("/account/security/app", appPage),
  page("/account/security/app/begin", { POST: beginAppPage }),
  page("/account/security/app/codes", { POST: renewCodesPage }),
  page("/account/security/app/remove", { POST: removeAppPage }),
  page("/account/security/passkeys", { POST: newPasskeyPage }),
  page("/account/security/passkeys/options", { POST: newPasskeyOptions }),
  page("/account/security/passkeys/rename", { POST: renamePasskeyPage }),
  page("/account/security/passkeys/remove", { POST: removePasskeyPage }),
];

/** The hosted pages and their files. Every page works without scripts. */
export function pageRoutes(kit: PageKit): readonly Route[] {
  const print = pageErrorPrinter(kit.site);
  const page = (path: string, methods: Methods, ...members: readonly string[]): readonly Route[] =>
    Object.entries(methods).map(([method, answer]) => ({
      method: method as Method,
      path,
      print,
      answer: answerOf(kit, answer, method === "GET" ? [...COMMON, ...members] : undefined),
    }));
  /** A page whose GET has an effect. */
  const acting = (path: string, { GET, POST }: FormHandlers, ...members: readonly string[]): readonly Route[] => [
    { method: "GET", path, print, answer: exceptHead(answerOf(kit, GET, [...COMMON, ...members])) },
    ...page(path, { POST }),
  ];
  /** A GET that is no page, or one that cannot be repeated. */
  const once = (path: string, answer: Handler): Route => ({ method: "GET", path, print, answer });
  return [
    page("/login", signInPage, "switch", PROVE_AGAIN, TOO_LATE),
    page("/login/code", secondFactorPage, STEP_MEMBER),
    page(SET_UP, setUpPage),
    page("/login/passkey", { POST: passkeySignInPage }),
    page("/login/passkey/options", { POST: passkeyOptionsPage }),
    page("/signup", signUpPage),
    page("/signup/sent", { GET: signUpSentPage }),
    page("/signup/resend", { POST: resendPage }),
    page("/forgot", forgotPage),
    page("/forgot/sent", { GET: forgotSentPage }),
    page("/reset", resetPage, "token"),
    page("/invitation", invitationPage("/invitation"), "token"),
    page("/setup", invitationPage("/setup"), "token"),
    acting("/consent", consentPage, ASK),
    page("/device", devicePage, "user_code"),
    page("/device/done", { GET: deviceDonePage }),
    acting("/logout", signOutPage),
    page("/account", { GET: accountPage }),
    once("/account/data", answerOf(kit, dataPage)),
    page("/account/profile", { POST: profilePage }),
    page("/account/revoke", { POST: revokePage }),
    page("/account/resend", { POST: resendOwnPage }),
    page("/account/agents", { GET: agentsPage }),
    page("/account/agents/end", { POST: endAgentPage }),
    page("/account/agents/pause", { POST: pauseAgentPage }),
    page("/account/agents/resume", { POST: resumeAgentPage }),
    page("/account/security", { GET: securityPage }),
    page("/account/security/address", addressPage),
    page(CONFIRM_ADDRESS, confirmAddressPage, "token"),
    page("/address/stop", stopAddressPage, "token"),
    ...factorRoutes(page),
    page("/account/security/password", passwordPage),
    page("/account/security/sessions/end", { POST: endSessionPage }),
    page("/account/security/sessions/end-others", { POST: endOtherSessionsPage }),
    page("/account/delete", deleteAccountPage),
    page("/account/deleted", { GET: accountGonePage }),
    page("/account/security/identities", { POST: identitiesPage }),
    once("/.well-known/change-password", (ctx) => sendRedirect(ctx, kit.site.path("/account/security/password"))),
    once("/signin/:name", exceptHead(answerOf(kit, upstreamPage))),
    once("/signin/:name/callback", exceptHead(answerOf(kit, upstreamCallbackPage))),
    once(STYLE.path, STYLE.handler),
    once(MARK.path, MARK.handler),
    once(BRAND_PATH, brandFilePage(kit.ports.brandings)),
    once(PASSKEY_SCRIPT.path, PASSKEY_SCRIPT.handler),
    once(PAGE_SCRIPT.path, PAGE_SCRIPT.handler),
  ].flat();
}
