import type { Brandings } from "../../branding/branding.ts";
import { type Language, TEXTS } from "../../texts/languages.ts";
import { publicOperation } from "../http/describe.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { languageOf } from "../http/language.ts";
import type { FrontContext, Route } from "../http/routes.ts";
import { wideLink } from "../pages/views/cards.ts";
import { type HostedPage, html, layout, type Site, sendPage, siteOf } from "../pages/views/layout.ts";

/** `GET /`: a page with links where the request prefers HTML, as a browser does, else a line of text. @see docs/protocol.md#system-endpoints */
export function rootRoute(issuer: string, brandings: Brandings): Route {
  const site = siteOf(issuer, brandings);
  const greeting = `Countersign, an OAuth 2.1 and OpenID Connect authorization server.\nReference: ${issuer}/docs\n`;
  return {
    method: "GET",
    path: "/",
    print: apiErrorPrinter(issuer),
    openapi: () =>
      publicOperation("System", "A greeting; a page with links for browsers", { "200": { description: "A greeting.", content: CONTENT } }),
    answer(ctx: FrontContext) {
      ctx.vary("Accept");
      if (ctx.accepts("text", "html") === "html") return sendPage(ctx, view(site, languageOf(ctx)));
      ctx.set("Content-Type", "text/plain; charset=utf-8");
      ctx.body = greeting;
    },
  };
}

const CONTENT = { "text/plain": { schema: { type: "string" } }, "text/html": { schema: { type: "string" } } } as const;

function view(site: Site, language: Language): HostedPage {
  const { title, lead, account, forDevelopers, ...words } = TEXTS[language].start;
  const links = [
    ["/docs", words.reference],
    ["/.well-known/oauth-authorization-server", words.oauth],
    ["/.well-known/openid-configuration", words.openid],
    ["/.well-known/jwks.json", words.keys],
  ] as const;
  return layout(
    site,
    { language, title },
    html`<section class="card links">
<h1>${title}</h1>
<p class="lead">${lead}</p>
${wideLink(site.path("/account"), account)}
<h2>${forDevelopers}</h2>
<ul>
${links.map(([path, label]) => html`<li><a href="${site.path(path)}">${label}</a></li>`)}
</ul>
</section>`,
  );
}
