import { forgotPassword, isStaleReset, ownerOfReset, resetPassword } from "../../../accounts/password-change.ts";
import type { Texts } from "../../../texts/languages.ts";
import { assertShape, EmailBody, ResetBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import { formBody } from "../../http/body.ts";
import { callerOf } from "../../http/caller.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import {
  beginPendingAction,
  browserCaller,
  browserToken,
  doneOf,
  failedForm,
  type PageKit,
  queryForm,
  queryMember,
  rememberBrowser,
  returnToOf,
  returnToStarted,
} from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { accountName, type FailedForm, hidden, html, type ReturnTo } from "../views/layout.ts";

const FORGOT = "forgot";
const RESET = "reset";
/** The value of `done` after a link was asked for. */
const SENT = "sent";
/** The value of `done` after a new password was set. */
const CHANGED = "changed";

const NEW_PASSWORD = { name: "password", type: "password", autocomplete: "new-password", autofocus: true } as const;

/** GET /forgot and POST /forgot: sends a link; the response is the same for every address. */
export function forgotPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site } = kit;
  const show = (ctx: FrontContext, returnTo: ReturnTo, value?: string, failed: FailedForm = {}): void =>
    sendForm(ctx, site, failed, ({ forgottenPassword: { title, lead, email: label, submit, toSignIn } }) => ({
      title,
      lead,
      action: site.path("/forgot"),
      members: hidden(browserToken(kit, ctx, FORGOT), returnTo),
      fields: [{ name: "email", label, type: "email", autocomplete: "username", value, autofocus: true }],
      submit,
      below: html`<a href="${site.path("/login", returnTo)}">${toSignIn}</a>`,
    }));
  return {
    GET: (ctx) => show(ctx, returnToOf(site, queryForm(ctx))),
    async POST(ctx) {
      const form = await formBody(ctx);
      guard.assert(ctx, form, FORGOT);
      const [returnTo, email] = [returnToOf(site, form), form.get("email") ?? ""];
      try {
        await forgotPassword(assertShape(EmailBody, { email }).email, ports, browserCaller(kit, ctx));
      } catch (error) {
        return show(ctx, returnTo, email, failedForm(ctx, error, ["email"]));
      }
      await beginPendingAction(kit, ctx, email, returnTo);
      sendRedirect(ctx, site.path(donePath(kit, ctx, "/forgot/sent", SENT), returnTo));
    },
  };
}

/** GET /forgot/sent: a separate page, so that reloading it does not send another link. It does not say whether there is such an account. */
export const forgotSentPage =
  (kit: PageKit): Handler =>
  (ctx) => {
    const { site } = kit;
    const returnTo = returnToOf(site, queryForm(ctx));
    if (doneOf(kit, ctx) !== SENT) return sendRedirect(ctx, site.path("/forgot", returnTo));
    sendNotice(ctx, site, "mail", ({ forgottenPassword: { sent, toSignIn } }) => ({
      ...sent,
      more: html`${wideLink(site.path("/login", returnTo), toSignIn)}
<p class="small after-form">${sent.nothingThere}</p>`,
    }));
  };

/** GET /reset and POST /reset: a new password by the link of a mail. Setting the password uses up the link; opening it does not. */
export function resetPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site } = kit;
  async function show(ctx: FrontContext, link: string, failed: FailedForm = {}): Promise<void> {
    try {
      const { email } = await ownerOfReset(link, ports);
      sendForm(ctx, site, failed, ({ forgottenPassword: { choose } }) => ({
        title: choose.title,
        lead: choose.lead(email),
        action: site.path("/reset"),
        members: html`${hidden(browserToken(kit, ctx, RESET))}<input type="hidden" name="token" value="${link}">${accountName(email)}`,
        fields: [{ ...NEW_PASSWORD, label: choose.password, hint: choose.passwordHint }],
        submit: choose.submit,
      }));
    } catch (error) {
      if (!isStaleReset(error)) throw error;
      const returnTo = await returnToStarted(kit, ctx);
      const words = ({ forgottenPassword: { stale } }: Texts) => ({
        ...stale,
        more: html`${wideLink(site.path("/forgot", returnTo), stale.again)}
<p class="small after-form"><a href="${site.path("/login", returnTo)}">${stale.signIn}</a></p>`,
      });
      sendNotice(ctx, site, "bad", words, 400);
    }
  }
  return {
    async GET(ctx) {
      if (doneOf(kit, ctx) !== CHANGED) return show(ctx, queryMember(ctx, "token") ?? "");
      const toSignIn = site.path("/login", await returnToStarted(kit, ctx));
      sendNotice(ctx, site, "good", ({ forgottenPassword: { changed } }) => ({ ...changed, more: wideLink(toSignIn, changed.signIn) }));
    },
    async POST(ctx) {
      const form = await formBody(ctx);
      guard.assert(ctx, form, RESET);
      const link = form.get("token") ?? "";
      try {
        const { token, password } = assertShape(ResetBody, { token: link, password: form.get("password") ?? "" });
        await rememberBrowser(kit, ctx, await resetPassword(token, password, ports, callerOf(ctx)));
      } catch (error) {
        return show(ctx, link, failedForm(ctx, error, ["password"]));
      }
      sendRedirect(ctx, site.path(donePath(kit, ctx, "/reset", CHANGED)));
    },
  };
}
