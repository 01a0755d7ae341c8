import { forgotPassword, isStaleReset, ownerOfReset, resetPassword } from "../../../accounts/forgotten-password.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { assertShape, EmailBody, ResetBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { formBody } from "../../http/body.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
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
import { formView, noticeView, wideLink } from "../views/cards.ts";
import {
  accountName,
  type FailedForm,
  type FormPage,
  type HostedPage,
  hidden,
  html,
  type ReturnTo,
  type Site,
  sendPage,
} from "../views/layout.ts";

const FORGOT = "forgot";
const RESET = "reset";
/** The value of `done` after a link was asked for. */
const SENT = "sent";
/** The value of `done` after a new password was set. */
const CHANGED = "changed";

/** GET /forgot and POST /forgot: sends a link; the response is the same for every address. */
export function forgotPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site } = kit;
  const show = (ctx: FrontContext, returnTo: ReturnTo, email?: string, { faults = [], status }: FailedForm = {}): void =>
    sendPage(ctx, forgotView(site, languageOf(ctx), { token: browserToken(kit, ctx, FORGOT), returnTo, email, faults }), status);
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

/** GET /forgot/sent: a separate page, so that reloading it does not send another link. */
export const forgotSentPage =
  (kit: PageKit): Handler =>
  (ctx) => {
    const { site } = kit;
    const returnTo = returnToOf(site, queryForm(ctx));
    if (doneOf(kit, ctx) !== SENT) return sendRedirect(ctx, site.path("/forgot", returnTo));
    sendPage(ctx, forgotSentView(site, languageOf(ctx), returnTo));
  };

/** GET /reset and POST /reset: a new password by the link of a mail. Setting the password uses up the link; opening it does not. */
export function resetPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site } = kit;
  async function show(ctx: FrontContext, link: string, { faults = [], status }: FailedForm = {}): Promise<void> {
    try {
      const { email } = await ownerOfReset(link, ports);
      sendPage(ctx, resetView(site, languageOf(ctx), { token: browserToken(kit, ctx, RESET), link, email, faults }), status);
    } catch (error) {
      if (!isStaleReset(error)) throw error;
      sendPage(ctx, staleResetView(site, languageOf(ctx), await returnToStarted(kit, ctx)), 400);
    }
  }
  return {
    async GET(ctx) {
      if (doneOf(kit, ctx) === CHANGED) {
        return sendPage(ctx, resetDoneView(site, languageOf(ctx), await returnToStarted(kit, ctx)));
      }
      await show(ctx, queryMember(ctx, "token") ?? "");
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

function forgotView(site: Site, language: Language, { token, returnTo, email, faults }: FormPage): HostedPage {
  const texts = TEXTS[language].forgottenPassword;
  return formView(site, language, {
    title: texts.title,
    lead: texts.lead,
    action: site.path("/forgot"),
    members: hidden(token, returnTo),
    fields: [{ name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, autofocus: true }],
    faults,
    submit: texts.submit,
    below: html`<a href="${site.path("/login", returnTo)}">${texts.toSignIn}</a>`,
  });
}

/** After the request for a link, whether or not there is such an account. */
function forgotSentView(site: Site, language: Language, returnTo: ReturnTo): HostedPage {
  const { sent, toSignIn } = TEXTS[language].forgottenPassword;
  const more = html`${wideLink(site.path("/login", returnTo), toSignIn)}
<p class="small after-form">${sent.nothingThere}</p>`;
  return noticeView(site, language, { tone: "mail", title: sent.title, text: sent.text, more });
}

interface ResetPage extends Omit<FormPage, "returnTo"> {
  /** The token of the link. */
  readonly link: string;
  readonly email: string;
}

function resetView(site: Site, language: Language, { token, link, email, faults }: ResetPage): HostedPage {
  const { title, lead, password: label, passwordHint: hint, submit } = TEXTS[language].forgottenPassword.choose;
  return formView(site, language, {
    title,
    lead: lead(email),
    action: site.path("/reset"),
    members: html`${hidden(token)}<input type="hidden" name="token" value="${link}">${accountName(email)}`,
    fields: [{ name: "password", label, type: "password", autocomplete: "new-password", hint, autofocus: true }],
    faults,
    submit,
  });
}

function staleResetView(site: Site, language: Language, returnTo: ReturnTo): HostedPage {
  const { title, text, again, signIn } = TEXTS[language].forgottenPassword.stale;
  const more = html`${wideLink(site.path("/forgot", returnTo), again)}
<p class="small after-form"><a href="${site.path("/login", returnTo)}">${signIn}</a></p>`;
  return noticeView(site, language, { tone: "bad", title, text, more });
}

function resetDoneView(site: Site, language: Language, returnTo: ReturnTo): HostedPage {
  const { title, text, signIn } = TEXTS[language].forgottenPassword.changed;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/login", returnTo), signIn) });
}
