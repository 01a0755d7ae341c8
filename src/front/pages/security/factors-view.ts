import type { Passkey } from "../../../accounts/factors.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { buttonForm, field, hidden, html, type Markup, moment, type Site } from "../views/layout.ts";
import { passkeyForm } from "../views/passkey-form.ts";

/** The passkeys of a user, and the form for another. */
export function passkeyCard(site: Site, language: Language, passkeys: readonly Passkey[], token: string): Markup {
  const texts = TEXTS[language].security;
  return html`<section class="card" aria-labelledby="passkeys">
<h2 id="passkeys">${texts.passkeys}</h2>
<p>${texts.passkeysText}</p>
${
  passkeys.length === 0
    ? html`<p class="small">${texts.noPasskeys}</p>`
    : html`<ul class="applications">${passkeys.map((passkey) => passkeyItem(site, language, passkey, token))}</ul>`
}
${passkeyForm(site, {
  ...{ kind: "add", path: "/account/security/passkeys", members: hidden(token), quiet: false },
  fields: field(language, [], { name: "name", label: texts.passkeyName, type: "text", autocomplete: "off", optional: true }),
  ...{ submit: texts.passkeyAdd, failure: texts.passkeyAddFailed, known: texts.passkeyKnown },
})}
<noscript><p class="small">${texts.passkeyNeedsScripts}</p></noscript>
</section>`;
}

function passkeyItem(
  site: Site,
  language: Language,
  { id, name, createdAt, lastUsedAt, backedUp, copiedAt }: Passkey,
  token: string,
): Markup {
  const texts = TEXTS[language].security;
  const path = "/account/security/passkeys";
  return html`<li>
<div class="application">
<h3><bdi>${name}</bdi> ${backedUp && html`<span class="tag">${texts.passkeySynced}</span>`}</h3>
${copiedAt !== null && html`<p class="fault">${texts.passkeyCopied}</p>`}
<p class="small">${texts.passkeyMade} ${moment(language, createdAt)}</p>
<p class="small">${lastUsedAt === null ? texts.passkeyUnused : html`${texts.passkeyUsed} ${moment(language, lastUsedAt)}`}</p>
<details><summary aria-label="${texts.passkeyRenameOf(name)}">${texts.passkeyRename}</summary>
<form method="post" action="${site.path(`${path}/rename`)}" class="stack">
${hidden(token)}
<input type="hidden" name="passkey" value="${id}">
<div class="field"><label for="name-${id}">${texts.passkeyName}</label><input id="name-${id}" name="name" type="text" autocomplete="off" value="${name}" maxlength="60" required></div>
<button class="button button-quiet" type="submit">${texts.passkeyRename}</button>
</form></details>
</div>
${buttonForm(site.path(`${path}/remove`), token, { words: texts.passkeyRemove, label: texts.passkeyRemoveOf(name), member: ["passkey", id] })}
</li>`;
}
