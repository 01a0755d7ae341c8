import { forgotPassword, isStaleReset, ownerOfReset, resetPassword } from "../../../accounts/password-change.ts";
import { assertShape, EmailBody, ResetBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import {
  beginPendingAction,
  browserCaller,
  browserToken,
  doneOf,
  type FormHandlers,
  failedForm,
  formFor,
  queryForm,
  queryMember,
  rememberBrowser,
  returnToOf,
  returnToStarted,
  type Visit,
} from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { accountName, type FailedForm, hidden, html, type ReturnTo } from "../views/layout.ts";

const FORGOT = "forgot";
const RESET = "reset";
const SENT = "sent";
const CHANGED = "changed";

const NEW_PASSWORD = { name: "password", type: "password", autocomplete: "new-password", autofocus: true } as const;

function showForgot(visit: Visit, returnTo: ReturnTo, value?: string, failed: FailedForm = {}): void {
  const { lead, submit } = visit.texts.forgottenPassword;
  const { forgotten: title, email: label, backToSignIn } = visit.texts.words;
  sendForm(visit, failed, {
    title,
    lead,
    action: visit.site.path("/forgot"),
    members: hidden(browserToken(visit, FORGOT), returnTo),
    fields: [{ name: "email", label, type: "email", autocomplete: "username", value, autofocus: true }],
    submit,
    below: html`<a href="${visit.site.path("/login", returnTo)}">${backToSignIn}</a>`,
  });
}

/** GET /forgot and POST /forgot: sends a link; the response is the same for every address. */
export const forgotPage: FormHandlers = {
  GET: (visit) => showForgot(visit, returnToOf(visit.site, queryForm(visit))),
  async POST(visit) {
    const { ctx, site } = visit;
    const form = await formFor(visit, FORGOT);
    const [returnTo, email] = [returnToOf(site, form), form.get("email") ?? ""];
    try {
      await forgotPassword(assertShape(EmailBody, { email }).email, visit.ports, browserCaller(visit));
    } catch (error) {
      return showForgot(visit, returnTo, email, failedForm(visit, error, ["email"]));
    }
    await beginPendingAction(visit, email, returnTo);
    sendRedirect(ctx, site.path(donePath(visit, "/forgot/sent", SENT), returnTo));
  },
};

/** GET /forgot/sent: a separate page, so that reloading it does not send another link. It does not say whether there is such an account. */
export const forgotSentPage = (visit: Visit) => {
  const { site } = visit;
  const returnTo = returnToOf(site, queryForm(visit));
  if (doneOf(visit) !== SENT) return sendRedirect(visit.ctx, site.path("/forgot", returnTo));
  const { sent } = visit.texts.forgottenPassword;
  const more = html`${wideLink(site.path("/login", returnTo), visit.texts.words.backToSignIn)}
<p class="small after-form">${sent.nothingThere}</p>`;
  sendNotice(visit, { tone: "mail", title: sent.title, text: sent.text, more });
};

async function showReset(visit: Visit, link: string, failed: FailedForm = {}): Promise<void> {
  const { site, texts } = visit;
  const { words } = texts;
  const { choose, stale } = texts.forgottenPassword;
  try {
    const { email } = await ownerOfReset(link, visit.ports);
    sendForm(visit, failed, {
      title: choose.title,
      lead: choose.lead(email),
      action: site.path("/reset"),
      members: html`${hidden(browserToken(visit, RESET))}<input type="hidden" name="token" value="${link}">${accountName(email)}`,
      fields: [{ ...NEW_PASSWORD, label: words.newPassword, hint: words.passwordHint }],
      submit: words.changePassword,
    });
  } catch (error) {
    if (!isStaleReset(error)) throw error;
    const returnTo = await returnToStarted(visit);
    const more = html`${wideLink(site.path("/forgot", returnTo), stale.again)}
<p class="small after-form"><a href="${site.path("/login", returnTo)}">${words.signIn}</a></p>`;
    sendNotice(visit, { tone: "bad", title: words.staleLink, text: stale.text, more }, 400);
  }
}

/** GET /reset and POST /reset: a new password by the link of a mail. Setting the password uses up the link; opening it does not. */
export const resetPage: FormHandlers = {
  async GET(visit) {
    if (doneOf(visit) !== CHANGED) return showReset(visit, queryMember(visit, "token") ?? "");
    const toSignIn = visit.site.path("/login", await returnToStarted(visit));
    const { title, text } = visit.texts.forgottenPassword.changed;
    sendNotice(visit, { tone: "good", title, text, more: wideLink(toSignIn, visit.texts.words.signIn) });
  },
  async POST(visit) {
    const { ctx } = visit;
    const form = await formFor(visit, RESET);
    const link = form.get("token") ?? "";
    try {
      const { token, password } = assertShape(ResetBody, { token: link, password: form.get("password") ?? "" });
      await rememberBrowser(visit, await resetPassword(token, password, visit.ports, visit.caller));
    } catch (error) {
      return showReset(visit, link, failedForm(visit, error, ["password"]));
    }
    sendRedirect(ctx, visit.site.path(donePath(visit, "/reset", CHANGED)));
  },
};
