import type { Handler, Method, Route } from "../http/routes.ts";
import { accountPage, dataPage, profilePage, resendOwnPage, revokePage } from "./account/page.ts";
import { agentsPage, endAgentPage, pauseAgentPage, resumeAgentPage } from "./agents/page.ts";
import { MARK, ONCE_SCRIPT, STYLE } from "./assets.ts";
import { consentPage } from "./consent/page.ts";
import { accountGonePage, deleteAccountPage } from "./delete-account/page.ts";
import { deviceDonePage, devicePage } from "./device/page.ts";
import { pageErrorPrinter } from "./errors.ts";
import { forgotPage, forgotSentPage, resetPage } from "./forgotten-password/page.ts";
import { invitationPage } from "./invitation/page.ts";
import type { PageKit } from "./kit.ts";
import { endOtherSessionsPage, endSessionPage, passwordPage, securityPage } from "./security/page.ts";
import { signInPage } from "./sign-in/page.ts";
import { signOutPage } from "./sign-out/page.ts";
import { resendPage, signUpPage, signUpSentPage } from "./sign-up/page.ts";

/** The hosted pages and their files. Every page works without scripts. */
export function pageRoutes(kit: PageKit): readonly Route[] {
  const print = pageErrorPrinter(kit.site);
  const page = (path: string, methods: { readonly [M in Method]?: Handler }): readonly Route[] =>
    Object.entries(methods).map(([method, answer]) => ({ method: method as Method, path, print, answer }));
  return [
    page("/login", signInPage(kit)),
    page("/signup", signUpPage(kit)),
    page("/signup/sent", { GET: signUpSentPage(kit) }),
    page("/signup/resend", { POST: resendPage(kit) }),
    page("/forgot", forgotPage(kit)),
    page("/forgot/sent", { GET: forgotSentPage(kit) }),
    page("/reset", resetPage(kit)),
    page("/invitation", invitationPage(kit, "/invitation")),
    page("/setup", invitationPage(kit, "/setup")),
    page("/consent", consentPage(kit)),
    page("/device", devicePage(kit)),
    page("/device/done", { GET: deviceDonePage(kit) }),
    page("/logout", signOutPage(kit)),
    page("/account", { GET: accountPage(kit) }),
    page("/account/data", { GET: dataPage(kit) }),
    page("/account/profile", { POST: profilePage(kit) }),
    page("/account/revoke", { POST: revokePage(kit) }),
    page("/account/resend", { POST: resendOwnPage(kit) }),
    page("/account/agents", { GET: agentsPage(kit) }),
    page("/account/agents/end", { POST: endAgentPage(kit) }),
    page("/account/agents/pause", { POST: pauseAgentPage(kit) }),
    page("/account/agents/resume", { POST: resumeAgentPage(kit) }),
    page("/account/security", { GET: securityPage(kit) }),
    page("/account/password", { POST: passwordPage(kit) }),
    page("/account/sessions/end", { POST: endSessionPage(kit) }),
    page("/account/sessions/end-others", { POST: endOtherSessionsPage(kit) }),
    page("/account/delete", deleteAccountPage(kit)),
    page("/account/deleted", { GET: accountGonePage(kit) }),
    page(STYLE.path, { GET: STYLE.handler }),
    page(MARK.path, { GET: MARK.handler }),
    page(ONCE_SCRIPT.path, { GET: ONCE_SCRIPT.handler }),
  ].flat();
}
