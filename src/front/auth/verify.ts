import { verifyEmail } from "../../accounts/registration.ts";
import { parseForm } from "../../protocol/form.ts";
import { sendJson } from "../http/headers.ts";
import type { ErrorPrinter, FrontContext, Handler } from "../http/routes.ts";
import { queryText } from "../http/routes.ts";
import type { PageKit } from "../pages/kit.ts";
import { returnToStarted } from "../pages/pending-action.ts";
import { sendPage } from "../pages/send.ts";
import { RESEND } from "../pages/sign-up/page.ts";
import { staleLinkView, verifiedView } from "../pages/views/notices.ts";
import { languageOf } from "../texts/language.ts";

/** What the link of the mail needs of what every page works with. */
type VerifyKit = Pick<PageKit, "ports" | "cookies" | "guard" | "site">;

/** Whether a page is asked for rather than JSON; a client that takes anything gets JSON. */
const wantsPage = (ctx: FrontContext): boolean => ctx.accepts("json", "html") === "html";

/** GET /auth/verify: uses the token of the mail up; a page for a browser, JSON for everyone else (specification §4.2). */
export const verifyRoute =
  (kit: VerifyKit): Handler =>
  async (ctx) => {
    ctx.vary("Accept");
    // Link checkers of mail programs ask with HEAD; that must not use the token up.
    if (ctx.method === "HEAD") {
      ctx.status = 200;
      return;
    }
    const user = await verifyEmail(parseForm(queryText(ctx)).get("token") ?? "", kit.ports.users);
    if (wantsPage(ctx)) sendPage(ctx, verifiedView(kit.site, languageOf(ctx), user.email, await returnToStarted(kit, ctx)));
    else sendJson(ctx, { message: "The e-mail address is verified.", email: user.email });
  };

/** Prints errors in the form that was asked for. The page for a link that is no longer good has the ways on from there. */
export const verifyErrorPrinter =
  (json: ErrorPrinter, page: ErrorPrinter, { site, guard }: VerifyKit): ErrorPrinter =>
  (ctx, refusal) => {
    if (!wantsPage(ctx)) json(ctx, refusal);
    else if (refusal?.code === "invalid_request") sendPage(ctx, staleLinkView(site, languageOf(ctx), guard.token(ctx, RESEND)), 400);
    else page(ctx, refusal);
  };
