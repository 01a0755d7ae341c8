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
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import { callerOf } from "../../http/caller.ts";
import { provedForm, provedFormPage } from "../fresh-proof.ts";
import { accountToken, browserCaller, goneAfter, queryForm, returnToOf, SET_UP, startBrowserSession, type Visit } from "../kit.ts";
import { accountFrame, wideLink } from "../views/cards.ts";
import {
  type FailedForm,
  type FormPage,
  faultSummary,
  field,
  type HostedPage,
  hidden,
  html,
  type Part,
  type ReturnTo,
  type Site,
  sendPage,
} from "../views/layout.ts";
import { qrCode } from "../views/qr-code.ts";
import { APP_OVER } from "./app-card.ts";
import { showGone } from "./page.ts";
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
  const { site, texts } = visit;
  const [returnTo, sent] = [returnToOf(site, form ?? queryForm(visit)), form?.get(APP_MEMBER)];
  const app = await waitingApp(signedIn, visit.ports);
  if (app === undefined) return leave(visit, signedIn, returnTo);
  const name = hash("sha256", app.secret, "base64url");
  const isReplaced = sent !== undefined && sent !== name;
  const faults = isReplaced ? [{ message: texts.authenticatorApp.replaced }] : (failed.faults ?? []);
  const members = html`${hidden(accountToken(visit, signedIn.user), returnTo)}<input type="hidden" name="${APP_MEMBER}" value="${name}">`;
  sendPage(visit.ctx, appView(site, visit.language, { ...app, members, returnTo, faults }), failed.status);
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
  const { ctx, site, language } = visit;
  const codes = await confirmApp(signedIn, form.get(CODE_FIELD) ?? "", visit.ports, callerOf(ctx));
  await raise(visit, signedIn);
  sendPage(ctx, recoveryCodesView(site, language, codes, afterFactor(site, returnToOf(site, form), SECURITY)));
  return undefined;
});

/** POST /account/security/app/codes: new recovery codes, shown once. */
export const renewCodesPage = provedForm(async (visit, _form, signedIn) => {
  try {
    const codes = await renewRecoveryCodes(signedIn, visit.ports, callerOf(visit.ctx));
    sendPage(visit.ctx, recoveryCodesView(visit.site, visit.language, codes));
  } catch (error) {
    return showGone(visit, signedIn, error, "appGone");
  }
});

export const removeAppPage = factorForm(
  (visit) => visit.site.path(donePath(visit, SECURITY, "appRemoved")),
  (visit, _form, signedIn) => goneAfter(removeApp(signedIn, visit.ports, callerOf(visit.ctx))),
);

/** Shows the secret of a new app, and asks for its first code. */
function appView(
  site: Site,
  language: Language,
  { members, returnTo, faults, secret, uri }: Pick<FormPage, "returnTo" | "faults"> & { members: Part; secret: string; uri: string },
): HostedPage {
  const texts = TEXTS[language].authenticatorApp;
  return accountFrame(
    site,
    { language, path: SECURITY, title: texts.title, faults },
    html`<section class="card" aria-labelledby="scan">
<h2 id="scan">${texts.scan}</h2>
<p>${texts.scanText}</p>
<p class="qr-frame">${qrCode(uri, texts.qrCode)}</p>
<p class="small"><a href="${uri}">${texts.onThisDevice}</a></p>
<p class="small">${texts.byHand} <code class="host">${(secret.match(/.{1,4}/g) ?? []).join(" ")}</code></p>
</section>
<section class="card" aria-labelledby="confirm">
<h2 id="confirm">${texts.confirm}</h2>
${faultSummary(language, faults)}
<form method="post" action="${site.path(PATH)}" class="stack" novalidate>
${members}
${field(language, faults, { name: CODE_FIELD, label: texts.code, type: "text", autocomplete: "one-time-code", inputmode: "numeric", hint: texts.codeHint, autofocus: faults.length > 0 })}
<button class="button" type="submit">${texts.submit}</button>
</form>
<p class="small after-form"><a href="${site.path(returnTo.requestId === undefined ? SECURITY : "/consent", returnTo)}">${texts.cancel}</a></p>
</section>`,
  );
}

/** The only page that shows recovery codes. @param next the path of the page after it; undefined for codes that replace others */
function recoveryCodesView(site: Site, language: Language, codes: readonly string[], next?: string): HostedPage {
  const texts = TEXTS[language].authenticatorApp;
  return accountFrame(
    site,
    { language, path: SECURITY, title: next === undefined ? texts.newCodes.title : texts.codesTitle },
    html`<section class="card" aria-labelledby="codes">
<h2 id="codes">${texts.codes}</h2>
<p>${texts.codesText}</p>
<ul class="sentences">${codes.map((code) => html`<li><code class="host">${code}</code></li>`)}</ul>
${wideLink(next ?? site.path(SECURITY), texts.codesDone)}
</section>`,
  );
}
