import type { FixedRoute, RouteGroup } from "../http/routes.ts";
import { accountPage, profilePage, resendOwnPage, revokePage } from "./account/page.ts";
import { agentsPage, endAgentPage, pauseAgentPage, resumeAgentPage } from "./agents/page.ts";
import { MARK, ONCE_SCRIPT, STYLE } from "./assets.ts";
import { consentPage } from "./consent/page.ts";
import { accountGonePage, deleteAccountPage } from "./delete-account/page.ts";
import { pageErrorPrinter } from "./errors.ts";
import { forgotPage, forgotSentPage, resetPage } from "./forgotten-password/page.ts";
import type { PageKit } from "./kit.ts";
import { endOtherSessionsPage, endSessionPage, passwordPage, securityPage } from "./security/page.ts";
import { signInPage } from "./sign-in/page.ts";
import { signOutPage } from "./sign-out/page.ts";
import { resendPage, signUpPage, signUpSentPage } from "./sign-up/page.ts";

/** The hosted pages and their files. Every page works without scripts. */
export function pageRoutes(kit: PageKit): RouteGroup {
  const print = pageErrorPrinter(kit.site);
  const page = (methods: FixedRoute["methods"]): FixedRoute => ({ methods, print });
  return {
    fixed: {
      "/login": page(signInPage(kit)),
      "/signup": page(signUpPage(kit)),
      "/signup/sent": page({ GET: signUpSentPage(kit) }),
      "/signup/resend": page({ POST: resendPage(kit) }),
      "/forgot": page(forgotPage(kit)),
      "/forgot/sent": page({ GET: forgotSentPage(kit) }),
      "/reset": page(resetPage(kit)),
      "/consent": page(consentPage(kit)),
      "/logout": page(signOutPage(kit)),
      "/account": page({ GET: accountPage(kit) }),
      "/account/profile": page({ POST: profilePage(kit) }),
      "/account/revoke": page({ POST: revokePage(kit) }),
      "/account/resend": page({ POST: resendOwnPage(kit) }),
      "/account/agents": page({ GET: agentsPage(kit) }),
      "/account/agents/end": page({ POST: endAgentPage(kit) }),
      "/account/agents/pause": page({ POST: pauseAgentPage(kit) }),
      "/account/agents/resume": page({ POST: resumeAgentPage(kit) }),
      "/account/security": page({ GET: securityPage(kit) }),
      "/account/password": page({ POST: passwordPage(kit) }),
      "/account/sessions/end": page({ POST: endSessionPage(kit) }),
      "/account/sessions/end-others": page({ POST: endOtherSessionsPage(kit) }),
      "/account/delete": page(deleteAccountPage(kit)),
      "/account/deleted": page({ GET: accountGonePage(kit) }),
      [STYLE.path]: page({ GET: STYLE.handler }),
      [MARK.path]: page({ GET: MARK.handler }),
      [ONCE_SCRIPT.path]: page({ GET: ONCE_SCRIPT.handler }),
    },
  };
}
