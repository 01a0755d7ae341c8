import { hash } from "node:crypto";
import type { SignedIn } from "../../../accounts/ports.ts";
import {
  beginApp,
  CODE_FIELD,
  confirmApp,
  removeApp,
  renewRecoveryCodes,
  waitingApp,
  withSecondFactor,
} from "../../../accounts/second-factor.ts";
import { raiseTo } from "../../../accounts/sign-in.ts";
import { isRefusal } from "../../../errors.ts";
import { isAsStrong, TWO_FACTOR_ACR } from "../../../protocol/authentication-context.ts";
import type { Form } from "../../../protocol/form.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import { provedForm, provedFormPage } from "../fresh-proof.ts";
import { accountToken, browserCaller, goneAfter, queryForm, returnToOf, SET_UP, startBrowserSession, type Visit } from "../kit.ts";
import { sendAccountPage, wideLink } from "../views/cards.ts";
import { type FailedForm, faultSummary, field, hidden, html, type ReturnTo } from "../views/layout.ts";
import { qrCode } from "../views/qr-code.ts";
import { APP_OVER, showGone } from "./page.ts";
import { afterFactor, factorForm, SECURITY } from "./passkeys.ts";

const PATH = `${SECURITY}/app`;

/** Names the app that a form shows. */
const APP_MEMBER = "app";

/** POST /account/security/app/begin: makes the secret of a new app. */
export const beginAppPage = factorForm(
  ({ site }, returnTo) => site.path(PATH, returnTo),
  async ({ ports }, _form, signedIn) => beginApp(signedIn, ports),
);

/** Where no app waits for its first code in this session: one that is on was confirmed in another tab, or before a click on Back. */
async function leave(visit: Visit, { user }: SignedIn, returnTo: ReturnTo): Promise<void> {
  const { ctx, site } = visit;
  const { appAddedAt } = await visit.ports.secondFactors.stateOf(user.id);
  if (appAddedAt !== null) return sendRedirect(ctx, afterFactor(site, returnTo, SECURITY));
  sendRedirect(ctx, site.path(donePath(visit, returnTo.requestId === undefined ? SECURITY : SET_UP, APP_OVER), returnTo));
}

/** @param form names the app whose code was sent: another tab may have begun another one since */
async function show(visit: Visit, signedIn: SignedIn, failed: FailedForm, form?: Form): Promise<void> {
  const { site, language, texts } = visit;
  const [returnTo, sent] = [returnToOf(site, form ?? queryForm(visit)), form?.get(APP_MEMBER)];
  const app = await waitingApp(signedIn, visit.ports);
  if (app === undefined) return leave(visit, signedIn, returnTo);
  const { authenticatorApp: words } = texts;
  const name = hash("sha256", app.secret, "base64url");
  const isReplaced = sent !== undefined && sent !== name;
  const faults = isReplaced ? [{ message: words.replaced }] : (failed.faults ?? []);
  const content = html`<section class="card" aria-labelledby="scan">
<h2 id="scan">${words.scan}</h2>
<p>${words.scanText}</p>
<p class="qr-frame">${qrCode(app.uri, words.qrCode)}</p>
<p class="small"><a href="${app.uri}">${words.onThisDevice}</a></p>
<p class="small">${words.byHand} <code class="host">${(app.secret.match(/.{1,4}/g) ?? []).join(" ")}</code></p>
</section>
<section class="card" aria-labelledby="confirm">
<h2 id="confirm">${words.confirm}</h2>
${faultSummary(language, faults)}
<form method="post" action="${site.path(PATH)}" class="stack" novalidate>
${hidden(accountToken(visit, signedIn.user), returnTo)}<input type="hidden" name="${APP_MEMBER}" value="${name}">
${field(language, faults, { name: CODE_FIELD, label: texts.words.code, type: "text", autocomplete: "one-time-code", inputmode: "numeric", hint: words.codeHint, autofocus: faults.length > 0 })}
<button class="button" type="submit">${words.submit}</button>
</form>
<p class="small after-form"><a href="${site.path(returnTo.requestId === undefined ? SECURITY : "/consent", returnTo)}">${texts.words.notNow}</a></p>
</section>`;
  sendAccountPage(visit, { path: SECURITY, title: words.title, faults }, content, failed.status);
}

/** The first code proves the app, so the session goes on as one of two factors. */
async function raise(visit: Visit, { user, session }: SignedIn): Promise<void> {
  if (isAsStrong(session.acr, TWO_FACTOR_ACR)) return;
  const proved = withSecondFactor(session.amr, "otp");
  const raised = await raiseTo(user, proved, visit.ports, browserCaller(visit)).catch((error: unknown) => {
    if (isRefusal(error)) return undefined; // the app is on, so its recovery codes must be shown
    throw error;
  });
  if (raised !== undefined) await startBrowserSession(visit, raised);
}

/** GET /account/security/app shows the code to scan; POST takes the first code of the app, and shows the recovery codes. */
export const appPage = provedFormPage([CODE_FIELD], show, async (visit, form, signedIn) => {
  const { site } = visit;
  const codes = await confirmApp(signedIn, form.get(CODE_FIELD) ?? "", visit.ports, visit.caller);
  await raise(visit, signedIn);
  sendCodes(visit, codes, afterFactor(site, returnToOf(site, form), SECURITY));
  return undefined;
});

/** POST /account/security/app/codes: new recovery codes, shown once. */
export const renewCodesPage = provedForm(async (visit, _form, signedIn) => {
  sendCodes(visit, await renewRecoveryCodes(signedIn, visit.ports, visit.caller));
  return undefined;
}, showGone("appGone"));

export const removeAppPage = factorForm(
  (visit) => visit.site.path(donePath(visit, SECURITY, "appRemoved")),
  (visit, _form, signedIn) => goneAfter(removeApp(signedIn, visit.ports, visit.caller)),
);

/** The only page that shows recovery codes. @param next the path of the page after it; undefined for codes that replace others */
function sendCodes(visit: Visit, codes: readonly string[], next?: string): void {
  const { authenticatorApp: words } = visit.texts;
  const content = html`<section class="card" aria-labelledby="codes">
<h2 id="codes">${words.codes}</h2>
<p>${words.codesText}</p>
<ul class="sentences">${codes.map((code) => html`<li><code class="host">${code}</code></li>`)}</ul>
${wideLink(next ?? visit.site.path(SECURITY), words.codesDone)}
</section>`;
  sendAccountPage(visit, { path: SECURITY, title: next === undefined ? words.newCodes.title : words.codesTitle }, content);
}
