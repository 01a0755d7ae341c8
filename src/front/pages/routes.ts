import { DONE_MEMBER } from "../done.ts";
import { sendRedirect } from "../http/answers.ts";
import { LANGUAGE_MEMBER, rememberChosen } from "../http/caller.ts";
import { exceptHead, type Handler, type Method, pathText, queryText, type Route } from "../http/routes.ts";
import { accountPage, dataPage, profilePage, resendOwnPage, revokePage } from "./account/page.ts";
import { addressPage, confirmAddressPage, stopAddressPage } from "./address/page.ts";
import { agentsPage, endAgentPage, pauseAgentPage, resumeAgentPage } from "./agents/page.ts";
import { ASSET_PATH, sendAsset } from "./assets.ts";
import { BRAND_PATH, brandFilePage } from "./brand-files.ts";
import { ASK, consentPage } from "./consent/page.ts";
import { accountGonePage, deleteAccountPage } from "./delete-account/page.ts";
import { deviceDonePage, devicePage } from "./device/page.ts";
import { pageErrorPrinter } from "./errors.ts";
import { forgotPage, forgotSentPage, resetPage } from "./forgotten-password/page.ts";
import { PROVE_AGAIN, TOO_LATE } from "./fresh-proof.ts";
import { invitationPage } from "./invitation/page.ts";
import { type PageHandler, type PageKit, SET_UP, type Visit } from "./kit.ts";
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

/** Paths of pages, what answers there, and the members of the query that a page needs besides the common ones. `acts`: a GET has an effect. */
const PAGES: readonly (readonly [path: string, Methods & { readonly acts?: true }, ...members: string[]])[] = [
  ["/login", signInPage, "switch", PROVE_AGAIN, TOO_LATE],
  ["/login/code", secondFactorPage, STEP_MEMBER],
  [SET_UP, setUpPage],
  ["/login/passkey", { POST: passkeySignInPage }],
  ["/login/passkey/options", { POST: passkeyOptionsPage }],
  ["/signup", signUpPage],
  ["/signup/sent", { GET: signUpSentPage }],
  ["/signup/resend", { POST: resendPage }],
  ["/forgot", forgotPage],
  ["/forgot/sent", { GET: forgotSentPage }],
  ["/reset", resetPage, "token"],
  ["/invitation", invitationPage("/invitation"), "token"],
  ["/setup", invitationPage("/setup"), "token"],
  ["/consent", { ...consentPage, acts: true }, ASK],
  ["/device", devicePage, "user_code"],
  ["/device/done", { GET: deviceDonePage }],
  ["/logout", { ...signOutPage, acts: true }],
  ["/account", { GET: accountPage }, "after"],
  ["/account/profile", { POST: profilePage }],
  ["/account/revoke", { POST: revokePage }],
  ["/account/resend", { POST: resendOwnPage }],
  ["/account/agents", { GET: agentsPage }],
  ["/account/agents/end", { POST: endAgentPage }],
  ["/account/agents/pause", { POST: pauseAgentPage }],
  ["/account/agents/resume", { POST: resumeAgentPage }],
  ["/account/security", { GET: securityPage }],
  ["/account/security/address", addressPage],
  [CONFIRM_ADDRESS, confirmAddressPage, "token"],
  ["/address/stop", stopAddressPage, "token"],
  ["/account/security/app", appPage],
  ["/account/security/app/begin", { POST: beginAppPage }],
  ["/account/security/app/codes", { POST: renewCodesPage }],
  ["/account/security/app/remove", { POST: removeAppPage }],
  ["/account/security/passkeys", { POST: newPasskeyPage }],
  ["/account/security/passkeys/options", { POST: newPasskeyOptions }],
  ["/account/security/passkeys/rename", { POST: renamePasskeyPage }],
  ["/account/security/passkeys/remove", { POST: removePasskeyPage }],
  ["/account/security/password", passwordPage],
  ["/account/security/sessions/end", { POST: endSessionPage }],
  ["/account/security/sessions/end-others", { POST: endOtherSessionsPage }],
  ["/account/delete", deleteAccountPage],
  ["/account/deleted", { GET: accountGonePage }],
  ["/account/security/identities", { POST: identitiesPage }],
];

/** The hosted pages and their files. Every page works without scripts. */
export function pageRoutes(kit: PageKit): readonly Route[] {
  const print = pageErrorPrinter(kit.site);
  const pages = PAGES.flatMap(([path, { acts, ...methods }, ...members]) =>
    Object.entries(methods).map(([method, page]): Route => {
      const answer = answerOf(kit, page, method === "GET" ? [...COMMON, ...members] : undefined);
      return { method: method as Method, path, print, answer: acts && method === "GET" ? exceptHead(answer) : answer };
    }),
  );
  /** A GET that is no page, or one that cannot be repeated. */
  const once = (path: string, answer: Handler): Route => ({ method: "GET", path, print, answer });
  return [
    ...pages,
    once("/account/data", answerOf(kit, dataPage)),
    once("/.well-known/change-password", (ctx) => sendRedirect(ctx, kit.site.path("/account/security/password"))),
    once("/signin/:name", exceptHead(answerOf(kit, upstreamPage))),
    once("/signin/:name/callback", exceptHead(answerOf(kit, upstreamCallbackPage))),
    once(ASSET_PATH, sendAsset),
    once(BRAND_PATH, brandFilePage(kit.ports.brandings)),
  ];
}
