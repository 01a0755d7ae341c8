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
import { callerOf, languageOf } from "../../http/caller.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { provedForm, provedFormPage } from "../fresh-proof.ts";
import {
  APP_OVER,
  accountToken,
  browserCaller,
  goneAfter,
  type PageKit,
  queryForm,
  returnToOf,
  SET_UP,
  startBrowserSession,
} from "../kit.ts";
import { accountFrame } from "../views/account-frame.ts";
import { wideLink } from "../views/cards.ts";
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
import { showGone } from "./page.ts";
import { afterFactor, factorForm, SECURITY } from "./passkeys.ts";

const PATH = `${SECURITY}/app`;

/** Names the app that a form shows. */
const APP_MEMBER = "app";

/** POST /account/security/app/begin: makes the secret of a new app. */
export const beginAppPage = (kit: PageKit): Handler =>
  factorForm(
    kit,
    (_ctx, returnTo) => kit.site.path(PATH, returnTo),
    async (_ctx, _form, signedIn) => beginApp(signedIn, kit.ports),
  );

/** GET /account/security/app shows the code to scan; POST takes the first code of the app, and shows the recovery codes. */
export function appPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, site } = kit;

  /** Where no app waits for its first code in this session: one that is on was confirmed in another tab, or before a click on Back. */
  async function leave(ctx: FrontContext, { user }: SignedIn, returnTo: ReturnTo): Promise<void> {
    const { appAddedAt } = await ports.secondFactors.stateOf(user.id);
    if (appAddedAt !== null) return sendRedirect(ctx, afterFactor(site, returnTo, SECURITY));
    sendRedirect(ctx, site.path(donePath(kit, ctx, returnTo.requestId === undefined ? SECURITY : SET_UP, APP_OVER), returnTo));
  }

  /** @param form names the app whose code was sent: another tab may have begun another one since */
  async function show(ctx: FrontContext, signedIn: SignedIn, failed: FailedForm, form?: Form): Promise<void> {
    const [returnTo, sent] = [returnToOf(site, form ?? queryForm(ctx)), form?.get(APP_MEMBER)];
    const app = await waitingApp(signedIn, ports);
    if (app === undefined) return leave(ctx, signedIn, returnTo);
    const [language, name] = [languageOf(ctx), hash("sha256", app.secret, "base64url")];
    const isReplaced = sent !== undefined && sent !== name;
    const faults = isReplaced ? [{ message: TEXTS[language].authenticatorApp.replaced }] : (failed.faults ?? []);
    const members = html`${hidden(accountToken(kit, ctx, signedIn.user), returnTo)}<input type="hidden" name="${APP_MEMBER}" value="${name}">`;
    sendPage(ctx, appView(site, language, { ...app, members, returnTo, faults }), failed.status);
  }

  /** The first code proves the app, so the session goes on as one of two factors. */
  async function raise(ctx: FrontContext, { user, session }: SignedIn): Promise<void> {
    if (isAsStrong(session.acr, TWO_FACTOR_ACR)) return;
    const proved = withSecondFactor(session.amr, "otp");
    const raised = await raiseTo(user, proved, ports, browserCaller(kit, ctx)).catch((error: unknown) => {
      if (isRefusal(error)) return undefined; // the app is on, so its recovery codes must be shown
      throw error;
    });
    if (raised !== undefined) await startBrowserSession(kit, ctx, raised);
  }

  return provedFormPage(kit, [CODE_FIELD], show, async (ctx, form, signedIn) => {
    const codes = await confirmApp(signedIn, form.get(CODE_FIELD) ?? "", ports, callerOf(ctx));
    await raise(ctx, signedIn);
    sendPage(ctx, recoveryCodesView(site, languageOf(ctx), codes, afterFactor(site, returnToOf(site, form), SECURITY)));
    return undefined;
  });
}

/** POST /account/security/app/codes: new recovery codes, shown once. */
export const renewCodesPage = (kit: PageKit): Handler =>
  provedForm(kit, async (ctx, _form, signedIn) => {
    try {
      const codes = await renewRecoveryCodes(signedIn, kit.ports, callerOf(ctx));
      sendPage(ctx, recoveryCodesView(kit.site, languageOf(ctx), codes));
    } catch (error) {
      return showGone(kit, ctx, signedIn, error, "appGone");
    }
  });

export const removeAppPage = (kit: PageKit): Handler =>
  factorForm(
    kit,
    (ctx) => kit.site.path(donePath(kit, ctx, SECURITY, "appRemoved")),
    (ctx, _form, signedIn) => goneAfter(removeApp(signedIn, kit.ports, callerOf(ctx))),
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
