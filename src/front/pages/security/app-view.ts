import type { SecondFactorState } from "../../../accounts/factors.ts";
import { CODE_FIELD } from "../../../accounts/second-factor.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { accountFrame } from "../views/account-frame.ts";
import { wideLink } from "../views/cards.ts";
import {
  buttonForm,
  type FormPage,
  faultSummary,
  field,
  type HostedPage,
  hidden,
  html,
  moment,
  type Part,
  type Site,
} from "../views/layout.ts";
import { qrCode } from "../views/qr-code.ts";

const PATH = "/account/security/app";

interface AppPage extends Pick<FormPage, "token" | "returnTo" | "faults"> {
  /** Base32. */
  readonly secret: string;
  /** The link that apps read. */
  readonly uri: string;
  /** The member that names the app. */
  readonly member: readonly [name: string, value: string];
}

/** What the security page knows about apps. */
export interface AppCard {
  readonly token: string;
  readonly secondFactor: SecondFactorState;
  /** Whether the server can set up apps. */
  readonly apps: boolean;
}

/** The part of the security page about the second step. @returns undefined where the server can set up no app, and there is none */
export function appCard(site: Site, language: Language, page: AppCard): Part {
  const { token, apps } = page;
  const { appAddedAt, recoveryCodes } = page.secondFactor;
  if (appAddedAt === null && !apps) return undefined;
  const texts = TEXTS[language].authenticatorApp;
  return html`<section class="card" aria-labelledby="second-step">
<h2 id="second-step">${texts.heading}</h2>
<p>${texts.text}</p>
${
  appAddedAt === null
    ? buttonForm(site.path(`${PATH}/begin`), token, { words: texts.setUp })
    : html`<p class="small">${texts.since} ${moment(language, appAddedAt)}</p>
<p class="small">${texts.codesLeft(recoveryCodes)}</p>
${apps && html`<p class="small">${texts.newPhone}</p>`}
${question(site, token, "codes", texts.newCodes)}
${question(site, token, "remove", texts.remove)}`
}
</section>`;
}

/** A step that a slip of the finger must not take. It needs no script and no page of its own. */
const question = (
  site: Site,
  token: string,
  step: string,
  { title, text, submit }: Readonly<Record<"title" | "text" | "submit", string>>,
) =>
  html`<details><summary>${title}</summary>
<p class="small">${text}</p>
${buttonForm(site.path(`${PATH}/${step}`), token, { words: submit })}
</details>`;

/** Shows the secret of a new app, and asks for its first code. */
export function appView(site: Site, language: Language, { token, returnTo, faults, secret, uri, member }: AppPage): HostedPage {
  const texts = TEXTS[language].authenticatorApp;
  return accountFrame(
    site,
    { language, path: "/account/security", title: texts.title, faults },
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
${hidden(token, returnTo)}<input type="hidden" name="${member[0]}" value="${member[1]}">
${field(language, faults, { name: CODE_FIELD, label: texts.code, type: "text", autocomplete: "one-time-code", inputmode: "numeric", hint: texts.codeHint, autofocus: faults.length > 0 })}
<button class="button" type="submit">${texts.submit}</button>
</form>
<p class="small after-form"><a href="${site.path(returnTo.requestId === undefined ? "/account/security" : "/consent", returnTo)}">${texts.cancel}</a></p>
</section>`,
  );
}

/** The only page that shows recovery codes. @param next the path of the page after it; undefined for codes that replace others */
export function recoveryCodesView(site: Site, language: Language, codes: readonly string[], next?: string): HostedPage {
  const texts = TEXTS[language].authenticatorApp;
  return accountFrame(
    site,
    { language, path: "/account/security", title: next === undefined ? texts.newCodes.title : texts.codesTitle },
    html`<section class="card" aria-labelledby="codes">
<h2 id="codes">${texts.codes}</h2>
<p>${texts.codesText}</p>
<ul class="sentences">${codes.map((code) => html`<li><code class="host">${code}</code></li>`)}</ul>
${wideLink(next ?? site.path("/account/security"), texts.codesDone)}
</section>`,
  );
}
