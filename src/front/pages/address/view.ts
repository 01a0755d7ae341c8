import type { AddressChange } from "../../../accounts/address-change.ts";
import type { User } from "../../../accounts/ports.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type FormPage, type HostedPage, hidden, html, type ReturnTo, type Site } from "../views/layout.ts";
import { CONFIRM_ADDRESS } from "../views/sections.ts";

export interface AddressPage extends Omit<FormPage, "returnTo"> {
  readonly user: Pick<User, "email" | "emailVerified">;
}

export function addressView(site: Site, language: Language, { token, user, email, faults }: AddressPage): HostedPage {
  const texts = TEXTS[language].address;
  return formView(site, language, {
    title: texts.title,
    lead: (user.emailVerified ? texts.lead : texts.leadUnconfirmed)(user.email),
    action: site.path("/account/security/address"),
    members: hidden(token),
    fields: [{ name: "email", label: texts.email, type: "email", autocomplete: "email", value: email, autofocus: true }],
    faults,
    submit: texts.submit,
    below: html`<a href="${site.path("/account")}">${texts.toAccount}</a>`,
  });
}

export interface AddressLinkPage extends Pick<FormPage, "token" | "faults"> {
  /** The token of the link. */
  readonly link: string;
  readonly change: AddressChange;
}

const linkMembers = ({ token, link }: AddressLinkPage) => html`${hidden(token)}<input type="hidden" name="token" value="${link}">`;

export function confirmAddressView(site: Site, language: Language, page: AddressLinkPage): HostedPage {
  const { confirm, toAccount } = TEXTS[language].address;
  return formView(site, language, {
    title: confirm.title,
    lead: confirm.lead(page.change.formerEmail, page.change.email),
    action: site.path(CONFIRM_ADDRESS),
    members: linkMembers(page),
    faults: page.faults,
    submit: confirm.submit,
    below: html`<a href="${site.path("/account")}">${toAccount}</a>`,
  });
}

/** @param returnTo the link, which the user goes on to after the sign-in */
export function signInFirstView(site: Site, language: Language, returnTo: ReturnTo): HostedPage {
  const { title, text, signIn } = TEXTS[language].address.signInFirst;
  return noticeView(site, language, { tone: "plain", title, text, more: wideLink(site.path("/login", returnTo), signIn) });
}

export function stopAddressView(site: Site, language: Language, page: AddressLinkPage): HostedPage {
  const { title, lead, submit } = TEXTS[language].address.stop;
  return formView(site, language, {
    title,
    lead: lead(page.change.formerEmail, page.change.email),
    action: site.path("/address/stop"),
    members: linkMembers(page),
    faults: page.faults,
    submit,
  });
}

export function stoppedAddressView(site: Site, language: Language): HostedPage {
  const { title, text, choose } = TEXTS[language].address.stopped;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/forgot"), choose) });
}

/** The former address has another account now. */
export function takenAddressView(site: Site, language: Language): HostedPage {
  const { title, text, signIn } = TEXTS[language].address.taken;
  return noticeView(site, language, { tone: "bad", title, text: text(site.host), more: wideLink(site.path("/login"), signIn) });
}

/** The link to the former address does not work, or not again. */
export function staleStopLinkView(site: Site, language: Language): HostedPage {
  const { stale, stopped } = TEXTS[language].address;
  return noticeView(site, language, {
    tone: "bad",
    title: stale.title,
    text: stale.stop,
    more: wideLink(site.path("/forgot"), stopped.choose),
  });
}

export function staleAddressLinkView(site: Site, language: Language): HostedPage {
  const { title, text, toAccount } = TEXTS[language].address.stale;
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/account"), toAccount) });
}
