import {
  ADDRESS_LINK_UNUSABLE,
  changeToConfirm,
  changeToStop,
  confirmAddressChange,
  requestAddressChange,
  stopAddressChange,
} from "../../../accounts/account.ts";
import type { AddressChange } from "../../../accounts/change-ports.ts";
import type { User } from "../../../accounts/ports.ts";
import { isRefusal } from "../../../errors.ts";
import type { Texts } from "../../../texts/languages.ts";
import { assertShape, EmailBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import { provedFormPage } from "../fresh-proof.ts";
import {
  accountForm,
  accountToken,
  browserToken,
  doneOf,
  type FormHandlers,
  failedForm,
  formFor,
  queryMember,
  returnToOf,
  signedInTo,
  type Visit,
} from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { type FailedForm, hidden, html } from "../views/layout.ts";
import { ACCOUNT_START, CONFIRM_ADDRESS } from "../views/sections.ts";

/** GET and POST /account/security/address: the user, who has just proved that it is them, asks for another address. */
export const addressPage = provedFormPage(
  ["email"],
  (visit, { user }, failed, form) => {
    const { title, lead, leadUnconfirmed, email: label, submit, toAccount } = visit.texts.address;
    sendForm(visit, failed, {
      title,
      lead: (user.emailVerified ? lead : leadUnconfirmed)(user.email),
      action: visit.site.path("/account/security/address"),
      members: hidden(accountToken(visit, user)),
      fields: [{ name: "email", label, type: "email", autocomplete: "email", value: form && (form.get("email") ?? ""), autofocus: true }],
      submit,
      below: html`<a href="${visit.site.path("/account")}">${toAccount}</a>`,
    });
  },
  async (visit, form, signedIn) => {
    const { email } = assertShape(EmailBody, { email: form.get("email") ?? "" });
    await requestAddressChange(signedIn, email, visit.ports, visit.caller);
    return donePath(visit, ACCOUNT_START, "addressSent");
  },
);

/** Shows the page of a link, or that the link does not work. */
async function forLink(
  visit: Visit,
  show: () => Promise<void>,
  stale: readonly [text: string, path: string, label: string],
): Promise<void> {
  try {
    await show();
  } catch (error) {
    if (!isRefusal(error) || error.reason !== ADDRESS_LINK_UNUSABLE) throw error;
    const [text, path, label] = stale;
    const { staleLink: title } = visit.texts.words;
    sendNotice(visit, { tone: "bad", title, text, more: wideLink(visit.site.path(path), label) }, 400);
  }
}

/** What the forms of both links have in common. @param token of the form  @param link the token of the link */
const linkCard = (token: string, link: string, { email, formerEmail }: AddressChange, texts: Texts["address"]["stop"]) => ({
  title: texts.title,
  lead: texts.lead(formerEmail, email),
  members: html`${hidden(token)}<input type="hidden" name="token" value="${link}">`,
  submit: texts.submit,
});

async function showConfirm(visit: Visit, user: User, link: string, failed: FailedForm = {}): Promise<void> {
  const { ports, site } = visit;
  const { confirm, toAccount, stale } = visit.texts.address;
  const showForm = async () => {
    const change = await changeToConfirm(link, user, ports);
    sendForm(visit, failed, {
      ...linkCard(accountToken(visit, user), link, change, confirm),
      action: site.path(CONFIRM_ADDRESS),
      below: html`<a href="${site.path("/account")}">${toAccount}</a>`,
    });
  };
  return forLink(visit, showForm, [stale.text, "/account", visit.texts.words.toAccount]);
}

/** GET and POST /account/security/address/confirm: the link to the new address, which works only where its user is signed in. */
export const confirmAddressPage: FormHandlers = {
  async GET(visit) {
    const { site } = visit;
    const signedIn = await signedInTo(visit);
    const link = queryMember(visit, "token") ?? "";
    if (signedIn !== undefined) return showConfirm(visit, signedIn.user, link);
    const toSignIn = site.path("/login", returnToOf(site, new Map([["next", `${CONFIRM_ADDRESS}?token=${link}`]])));
    const { title, text } = visit.texts.address.signInFirst;
    sendNotice(visit, { tone: "plain", title, text, more: wideLink(toSignIn, visit.texts.words.signIn) });
  },
  POST: accountForm(
    async (visit, form, signedIn) => {
      await confirmAddressChange(form.get("token") ?? "", signedIn, visit.ports, visit.caller);
      return donePath(visit, ACCOUNT_START, "address");
    },
    (visit, { user }, error, form) => showConfirm(visit, user, form.get("token") ?? "", failedForm(visit, error, [])),
  ),
};

const STOP = "address-stop";
const STOPPED = "stopped";

async function showStop(visit: Visit, link: string, failed: FailedForm = {}): Promise<void> {
  const { stop, stale } = visit.texts.address;
  const showForm = async () => {
    const change = await changeToStop(link, visit.ports);
    sendForm(visit, failed, { ...linkCard(browserToken(visit, STOP), link, change, stop), action: visit.site.path("/address/stop") });
  };
  return forLink(visit, showForm, [stale.stop, "/forgot", visit.texts.words.choosePassword]);
}

/** GET and POST /address/stop: the link to the former address, which stops or undoes the change. Opening it changes nothing. */
export const stopAddressPage: FormHandlers = {
  async GET(visit) {
    if (doneOf(visit) !== STOPPED) return showStop(visit, queryMember(visit, "token") ?? "");
    const { title, text } = visit.texts.address.stopped;
    sendNotice(visit, { tone: "good", title, text, more: wideLink(visit.site.path("/forgot"), visit.texts.words.choosePassword) });
  },
  async POST(visit) {
    const { ctx, ports, site } = visit;
    const form = await formFor(visit, STOP);
    const link = form.get("token") ?? "";
    try {
      await stopAddressChange(link, ports, visit.caller);
    } catch (error) {
      if (!isRefusal(error) || error.code !== "conflict") return showStop(visit, link, failedForm(visit, error, []));
      // The former address has another account now.
      const { title, text } = visit.texts.address.taken;
      const more = wideLink(site.path("/login"), visit.texts.words.signIn);
      return sendNotice(visit, { tone: "bad", title, text: text(site.host), more }, 409);
    }
    sendRedirect(ctx, site.path(donePath(visit, "/address/stop", STOPPED)));
  },
};
