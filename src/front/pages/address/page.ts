import {
  ADDRESS_LINK_UNUSABLE,
  type AddressChange,
  changeToConfirm,
  changeToStop,
  confirmAddressChange,
  requestAddressChange,
  stopAddressChange,
} from "../../../accounts/address-change.ts";
import type { User } from "../../../accounts/ports.ts";
import { isRefusal } from "../../../errors.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { assertShape, EmailBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { formBody } from "../../http/body.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { provedForm, provedPage } from "../fresh-proof.ts";
import { accountForm, accountToken, browserToken, doneOf, failedForm, type PageKit, queryMember, returnToOf, signedInTo } from "../kit.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type FailedForm, type FormPage, type HostedPage, hidden, html, type ReturnTo, type Site, sendPage } from "../views/layout.ts";
import { ACCOUNT_START, CONFIRM_ADDRESS } from "../views/sections.ts";

type Page = { readonly GET: Handler; readonly POST: Handler };

/** GET and POST /account/security/address: the user, who has just proved that it is them, asks for another address. */
export function addressPage(kit: PageKit): Page {
  const { ports, site } = kit;
  const show = (ctx: FrontContext, user: User, { email, faults = [], status }: FailedForm & { readonly email?: string }): void => {
    const page = { token: accountToken(kit, ctx, user), user, email, faults };
    sendPage(ctx, addressView(site, languageOf(ctx), page), status);
  };
  return {
    GET: provedPage(kit, (ctx, { signedIn: { user } }) => show(ctx, user, {})),
    POST: provedForm(kit, async (ctx, form, signedIn) => {
      const email = form.get("email") ?? "";
      try {
        await requestAddressChange(signedIn, assertShape(EmailBody, { email }).email, ports, callerOf(ctx));
        return donePath(kit, ctx, ACCOUNT_START, "addressSent");
      } catch (error) {
        show(ctx, signedIn.user, { email, ...failedForm(ctx, error, ["email"]) });
      }
    }),
  };
}

/** Shows the page of a link, or that the link does not work. */
async function forLink(kit: PageKit, ctx: FrontContext, show: () => Promise<void>, stale = staleAddressLinkView): Promise<void> {
  try {
    await show();
  } catch (error) {
    if (!isRefusal(error) || error.reason !== ADDRESS_LINK_UNUSABLE) throw error;
    sendPage(ctx, stale(kit.site, languageOf(ctx)), 400);
  }
}

/** GET and POST /account/security/address/confirm: the link to the new address, which works only where its user is signed in. */
export function confirmAddressPage(kit: PageKit): Page {
  const { ports, site } = kit;
  const show = (ctx: FrontContext, user: User, link: string, { faults = [], status }: FailedForm = {}): Promise<void> =>
    forLink(kit, ctx, async () => {
      const change = await changeToConfirm(link, user, ports);
      const page = { token: accountToken(kit, ctx, user), link, change, faults };
      sendPage(ctx, confirmAddressView(site, languageOf(ctx), page), status);
    });
  return {
    async GET(ctx) {
      const signedIn = await signedInTo(kit, ctx);
      const link = queryMember(ctx, "token") ?? "";
      if (signedIn !== undefined) return show(ctx, signedIn.user, link);
      const returnTo = returnToOf(site, new Map([["next", `${CONFIRM_ADDRESS}?token=${link}`]]));
      sendPage(ctx, signInFirstView(site, languageOf(ctx), returnTo));
    },
    POST: accountForm(kit, async (ctx, form, signedIn) => {
      const link = form.get("token") ?? "";
      try {
        await confirmAddressChange(link, signedIn, ports, callerOf(ctx));
        return donePath(kit, ctx, ACCOUNT_START, "address");
      } catch (error) {
        await show(ctx, signedIn.user, link, failedForm(ctx, error, []));
      }
    }),
  };
}

const STOP = "address-stop";
/** The value of `done` after a change was stopped. */
const STOPPED = "stopped";

/** GET and POST /address/stop: the link to the former address, which stops or undoes the change. Opening it changes nothing. */
export function stopAddressPage(kit: PageKit): Page {
  const { ports, guard, site } = kit;
  const show = (ctx: FrontContext, link: string, { faults = [], status }: FailedForm = {}): Promise<void> => {
    const showForm = async () => {
      const change = await changeToStop(link, ports);
      sendPage(ctx, stopAddressView(site, languageOf(ctx), { token: browserToken(kit, ctx, STOP), link, change, faults }), status);
    };
    return forLink(kit, ctx, showForm, staleStopLinkView);
  };
  return {
    async GET(ctx) {
      if (doneOf(kit, ctx) === STOPPED) return sendPage(ctx, stoppedAddressView(site, languageOf(ctx)));
      await show(ctx, queryMember(ctx, "token") ?? "");
    },
    async POST(ctx) {
      const form = await formBody(ctx);
      guard.assert(ctx, form, STOP);
      const link = form.get("token") ?? "";
      try {
        await stopAddressChange(link, ports, callerOf(ctx));
      } catch (error) {
        if (isRefusal(error) && error.code === "conflict") return sendPage(ctx, takenAddressView(site, languageOf(ctx)), 409);
        return show(ctx, link, failedForm(ctx, error, []));
      }
      sendRedirect(ctx, site.path(donePath(kit, ctx, "/address/stop", STOPPED)));
    },
  };
}

interface AddressPage extends Omit<FormPage, "returnTo"> {
  readonly user: Pick<User, "email" | "emailVerified">;
}

function addressView(site: Site, language: Language, { token, user, email, faults }: AddressPage): HostedPage {
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

interface AddressLinkPage extends Pick<FormPage, "token" | "faults"> {
  /** The token of the link. */
  readonly link: string;
  readonly change: AddressChange;
}

const linkMembers = ({ token, link }: AddressLinkPage) => html`${hidden(token)}<input type="hidden" name="token" value="${link}">`;

function confirmAddressView(site: Site, language: Language, page: AddressLinkPage): HostedPage {
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
function signInFirstView(site: Site, language: Language, returnTo: ReturnTo): HostedPage {
  const { title, text, signIn } = TEXTS[language].address.signInFirst;
  return noticeView(site, language, { tone: "plain", title, text, more: wideLink(site.path("/login", returnTo), signIn) });
}

function stopAddressView(site: Site, language: Language, page: AddressLinkPage): HostedPage {
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

function stoppedAddressView(site: Site, language: Language): HostedPage {
  const { title, text, choose } = TEXTS[language].address.stopped;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/forgot"), choose) });
}

/** The former address has another account now. */
function takenAddressView(site: Site, language: Language): HostedPage {
  const { title, text, signIn } = TEXTS[language].address.taken;
  return noticeView(site, language, { tone: "bad", title, text: text(site.host), more: wideLink(site.path("/login"), signIn) });
}

/** The link to the former address does not work, or not again. */
function staleStopLinkView(site: Site, language: Language): HostedPage {
  const { stale, stopped } = TEXTS[language].address;
  return noticeView(site, language, {
    tone: "bad",
    title: stale.title,
    text: stale.stop,
    more: wideLink(site.path("/forgot"), stopped.choose),
  });
}

function staleAddressLinkView(site: Site, language: Language): HostedPage {
  const { title, text, toAccount } = TEXTS[language].address.stale;
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/account"), toAccount) });
}
