import type { SecondFactorState } from "../../../accounts/factors.ts";
import type { Visit } from "../kit.ts";
import { buttonForm, type Fault, html, moment, type Part, type Site, type Writing } from "../views/layout.ts";

const PATH = "/account/security/app";

/** The value of `done` where the set-up of an authenticator app has to be begun again, as in a new session. */
export const APP_OVER = "appOver";

/** What the page that was redirected to says about that. */
export const appOverFaults = ({ texts }: Visit, done: string | undefined): readonly Fault[] =>
  done === APP_OVER ? [{ message: texts.authenticatorApp.over }] : [];

interface AppCard {
  readonly token: string;
  readonly secondFactor: SecondFactorState;
  /** Whether the server can set up apps. */
  readonly apps: boolean;
}

/** The part of the security page about the second step. @returns undefined where the server can set up no app, and there is none */
export function appCard({ site, language, texts: { authenticatorApp: texts } }: Writing, { token, apps, secondFactor }: AppCard): Part {
  const { appAddedAt, recoveryCodes } = secondFactor;
  if (appAddedAt === null && !apps) return undefined;
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
