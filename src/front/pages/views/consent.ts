import { shownResource } from "../client-words.ts";
import { html, type Markup, type Part } from "../html.ts";
import { scopeWords } from "../scope-words.ts";
import type { Site } from "../site.ts";
import type { ShownClient } from "./client.ts";
import { hidden, layout } from "./layout.ts";

export interface ConsentPage {
  readonly token: string;
  readonly requestId: string;
  /** Stands for what is shown, so that the answer counts for nothing else. */
  readonly offer: string;
  readonly email: string;
  readonly client: ShownClient;
  readonly scopes: readonly string[];
  readonly newScopes: readonly string[];
  readonly resources: readonly string[];
  readonly newResources: readonly string[];
}

export function consentView(site: Site, page: ConsentPage): Markup {
  const { client, token, requestId, email, scopes, newScopes, resources, newResources } = page;
  const more = newScopes.length < scopes.length || newResources.length < resources.length;
  // Without new scopes it is about new places, or the screen was asked for by itself: then everything counts.
  const asked = newScopes.length > 0 ? newScopes : scopes;
  const known = scopes.filter((scope) => !asked.includes(scope));
  return layout(
    site,
    { language: "en", title: `Allow ${client.name}?` },
    html`<section class="card">
<p class="avatar" aria-hidden="true">${initial(client.name)}</p>
<h1 class="centred"><bdi>${client.name}</bdi> ${more ? "asks for more access" : "asks for access"}</h1>
<p class="who">You are signed in as <strong>${email}</strong>. <a href="${site.path("/login", requestId)}&amp;switch=1">Use another account</a></p>
${facts(client)}
${warning(client)}
${
  asked.length > 0 &&
  html`<h2>${known.length > 0 ? "It would also be able to" : "It would be able to"}</h2>
<ul class="grants">${asked.map((scope) => scopeItem(scope, resources))}</ul>`
}
${
  resources.length > 0 &&
  html`<h2>Only at these places</h2>
<ul class="places">${resources.map((resource) => placeItem(resource, more && newResources.includes(resource)))}</ul>`
}
${
  known.length > 0 &&
  html`<h2>You allowed it before to</h2>
<ul class="known">${known.map((scope) => html`<li><bdi>${scopeWords(scope).title}</bdi></li>`)}</ul>`
}
<form method="post" action="${site.path("/consent")}" class="decide">
${hidden(token, requestId)}
<input type="hidden" name="offer" value="${page.offer}">
<button class="button button-deny" type="submit" name="decision" value="deny">Deny</button>
<button class="button" type="submit" name="decision" value="approve">Allow</button>
</form>
<p class="small">You can take this back at any time on <a href="${site.path("/account")}">your account page</a>.</p>
</section>`,
  );
}

const initial = (name: string): string => /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? "?";

const facts = ({ verifiedHost, returnHost, onThisDevice, environment }: ShownClient): Markup => html`<dl class="facts">
${verifiedHost !== undefined && html`<div><dt>Published by</dt><dd class="host">${verifiedHost}</dd></div>`}
<div><dt>Sends you back to</dt><dd><span class="host">${returnHost}</span>${onThisDevice && " (this device)"}</dd></div>
${environment !== undefined && environment !== "production" && html`<div><dt>Stage</dt><dd><span class="tag">${environment}</span></dd></div>`}
</dl>`;

/** What the person should know before trusting the name. */
function warning({ verifiedHost, onThisDevice, openRegistration }: ShownClient): Part {
  const lines = [
    onThisDevice && "The access goes to a program on this device. Continue only if you started it yourself just now.",
    openRegistration &&
      verifiedHost === undefined &&
      "This application chose its name itself and nobody has checked it. Continue only if you expected this page.",
  ].filter((line) => line !== false);
  return lines.length > 0 && html`<div class="caution" role="note">${lines.map((line) => html`<p>${line}</p>`)}</div>`;
}

function scopeItem(scope: string, resources: readonly string[]): Markup {
  const { title, detail } = scopeWords(scope, resources);
  return html`<li><p class="grant-title"><bdi>${title}</bdi></p><p class="grant-detail">${detail}</p></li>`;
}

const placeItem = (resource: string, isNew: boolean): Markup =>
  html`<li><span class="host">${shownResource(resource)}</span>${isNew && html` <span class="tag tag-new">New</span>`}</li>`;
