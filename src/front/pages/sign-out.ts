import { signOut, signOutEverywhere } from "../../accounts/sessions.ts";
import { hashSecret } from "../../secret.ts";
import { formBody } from "../middleware/body.ts";
import { callerOf } from "../people-ports.ts";
import type { Handler } from "../routes.ts";
import { languageOf } from "../texts/language.ts";
import { type PageKit, signedInTo } from "./kit.ts";
import { OWN_PURPOSE } from "./own.ts";
import { sendPage, sendRedirect } from "./send.ts";
import { signedOutView } from "./views/notices.ts";
import { signOutView } from "./views/sign-out.ts";

/** GET /logout asks, POST /logout ends the session, or with `everywhere` all that the person has. */
export function signOutPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, cookies, guard, site } = kit;
  return {
    async GET(ctx) {
      const signedIn = await signedInTo(kit, ctx);
      if (!signedIn) return sendPage(ctx, signedOutView(site, languageOf(ctx)));
      sendPage(ctx, signOutView(site, languageOf(ctx), { token: guard.token(ctx, OWN_PURPOSE), email: signedIn.user.email }));
    },
    async POST(ctx) {
      const form = await formBody(ctx);
      guard.assert(ctx, form, OWN_PURPOSE);
      const secret = cookies.session(ctx);
      const signedIn = await signedInTo(kit, ctx);
      if (signedIn && secret !== undefined) {
        if (form.get("everywhere") === "yes") await signOutEverywhere(signedIn.user.id, ports.sessions, callerOf(ctx));
        else await signOut(hashSecret(secret), signedIn.user.id, ports.sessions, callerOf(ctx));
      }
      cookies.endSession(ctx);
      sendRedirect(ctx, site.path("/logout"), 303);
    },
  };
}
