import { html, type Markup, type Part } from "../html.ts";
import type { Site } from "../site.ts";
import { field, hidden, layout } from "./layout.ts";

export interface Notice {
  readonly tone: "good" | "bad" | "plain";
  readonly title: string;
  readonly text: string;
  readonly more?: Part;
}

/** A page that says one thing. */
export const noticeView = (site: Site, { tone, title, text, more }: Notice): Markup =>
  layout(
    site,
    { language: "en", title },
    html`<section class="card notice notice-${tone}">
<span class="seal" aria-hidden="true"></span>
<h1>${title}</h1>
<p class="lead">${text}</p>
${more}
</section>`,
  );

/** After a verification link was used. */
export const verifiedView = (site: Site, email: string): Markup =>
  noticeView(site, {
    tone: "good",
    title: "Your address is confirmed",
    text: `${email} belongs to your account. You can close this page, or go on.`,
    more: html`<a class="button button-wide" href="${site.path("/account")}">Go to your account</a>`,
  });

/** After a verification link that is no longer good. @param token of the form that asks for another mail */
export const staleLinkView = (site: Site, token: string): Markup =>
  noticeView(site, {
    tone: "bad",
    title: "This link no longer works",
    text: "It was used already, a newer one has taken its place, or it is more than a day old. An address that is confirmed stays so.",
    more: html`<a class="button button-wide" href="${site.path("/login")}">Sign in</a>
<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token)}
${field("en", { name: "email", label: "E-mail address", type: "email", autocomplete: "email" })}
<button class="button button-wide" type="submit">Send a new mail</button>
</form>`,
  });

export interface CheckMail {
  readonly email: string;
  readonly token: string;
  /** The authorization request that waits. */
  readonly requestId: string | undefined;
  /** Whether another mail was just asked for. */
  readonly again: boolean;
}

/** After signing up: the mail is on its way, and one can go on. */
export const checkMailView = (site: Site, { email, token, requestId, again }: CheckMail): Markup =>
  noticeView(site, {
    tone: "plain",
    title: "Check your mail",
    text: `A message with a link is on its way to ${email}. Open the link within 24 hours to confirm the address.`,
    more: html`<a class="button button-wide" href="${site.path("/login", requestId)}">Continue to sign in</a>
<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token, requestId)}
<input type="hidden" name="email" value="${email}">
${
  again
    ? html`<p role="status">A new message is on its way.</p>`
    : html`<p>Nothing there after a few minutes? Look among the spam, or <button class="link" type="submit">send it again</button>.</p>`
}
</form>`,
  });

/** After signing out. */
export const signedOutView = (site: Site): Markup =>
  noticeView(site, {
    tone: "good",
    title: "You are signed out",
    text: "On a device that others use too, close the browser as well.",
    more: html`<a class="button button-wide" href="${site.path("/login")}">Sign in again</a>`,
  });
