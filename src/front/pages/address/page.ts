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
import { formBody } from "../../http/body.ts";
import { callerOf } from "../../http/caller.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { provedFormPage } from "../fresh-proof.ts";
import { accountForm, accountToken, browserToken, doneOf, failedForm, type PageKit, queryMember, returnToOf, signedInTo } from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { type FailedForm, hidden, html } from "../views/layout.ts";
import { ACCOUNT_START, CONFIRM_ADDRESS } from "../views/sections.ts";

type Page = { readonly GET: Handler; readonly POST: Handler };

/** GET and POST /account/security/address: the user, who has just proved that it is them, asks for another address. */
export const addressPage = (kit: PageKit): Page =>
  provedFormPage(
    kit,
    ["email"],
    (ctx, { user }, failed, form) =>
      sendForm(ctx, kit.site, failed, ({ address: { title, lead, leadUnconfirmed, email: label, submit, toAccount } }) => ({
        title,
        lead: (user.emailVerified ? lead : leadUnconfirmed)(user.email),
        action: kit.site.path("/account/security/address"),
        members: hidden(accountToken(kit, ctx, user)),
        fields: [{ name: "email", label, type: "email", autocomplete: "email", value: form && (form.get("email") ?? ""), autofocus: true }],
        submit,
        below: html`<a href="${kit.site.path("/account")}">${toAccount}</a>`,
      })),
    async (ctx, form, signedIn) => {
      const { email } = assertShape(EmailBody, { email: form.get("email") ?? "" });
      await requestAddressChange(signedIn, email, kit.ports, callerOf(ctx));
      return donePath(kit, ctx, ACCOUNT_START, "addressSent");
    },
  );

/** Shows the page of a link, or that the link does not work. */
async function forLink(
  { site }: PageKit,
  ctx: FrontContext,
  show: () => Promise<void>,
  stale: (texts: Texts["address"]) => readonly [text: string, path: string, label: string],
): Promise<void> {
  try {
    await show();
  } catch (error) {
    if (!isRefusal(error) || error.reason !== ADDRESS_LINK_UNUSABLE) throw error;
    const words = ({ address }: Texts) => {
      const [text, path, label] = stale(address);
      return { title: address.stale.title, text, more: wideLink(site.path(path), label) };
    };
    sendNotice(ctx, site, "bad", words, 400);
  }
}

/** What the forms of both links have in common. @param token of the form  @param link the token of the link */
const linkCard = (token: string, link: string, { email, formerEmail }: AddressChange, texts: Texts["address"]["stop"]) => ({
  title: texts.title,
  lead: texts.lead(formerEmail, email),
  members: html`${hidden(token)}<input type="hidden" name="token" value="${link}">`,
  submit: texts.submit,
});

/** GET and POST /account/security/address/confirm: the link to the new address, which works only where its user is signed in. */
export function confirmAddressPage(kit: PageKit): Page {
  const { ports, site } = kit;
  const show = (ctx: FrontContext, user: User, link: string, failed: FailedForm = {}): Promise<void> => {
    const showForm = async () => {
      const change = await changeToConfirm(link, user, ports);
      sendForm(ctx, site, failed, ({ address: { confirm, toAccount } }) => ({
        ...linkCard(accountToken(kit, ctx, user), link, change, confirm),
        action: site.path(CONFIRM_ADDRESS),
        below: html`<a href="${site.path("/account")}">${toAccount}</a>`,
      }));
    };
    return forLink(kit, ctx, showForm, ({ stale }) => [stale.text, "/account", stale.toAccount]);
  };
  return {
    async GET(ctx) {
      const signedIn = await signedInTo(kit, ctx);
      const link = queryMember(ctx, "token") ?? "";
      if (signedIn !== undefined) return show(ctx, signedIn.user, link);
      const toSignIn = site.path("/login", returnToOf(site, new Map([["next", `${CONFIRM_ADDRESS}?token=${link}`]])));
      sendNotice(ctx, site, "plain", ({ address: { signInFirst } }) => ({ ...signInFirst, more: wideLink(toSignIn, signInFirst.signIn) }));
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
  const show = (ctx: FrontContext, link: string, failed: FailedForm = {}): Promise<void> => {
    const showForm = async () => {
      const change = await changeToStop(link, ports);
      sendForm(ctx, site, failed, ({ address: { stop } }) => ({
        ...linkCard(browserToken(kit, ctx, STOP), link, change, stop),
        action: site.path("/address/stop"),
      }));
    };
    return forLink(kit, ctx, showForm, ({ stale, stopped }) => [stale.stop, "/forgot", stopped.choose]);
  };
  return {
    async GET(ctx) {
      if (doneOf(kit, ctx) !== STOPPED) return show(ctx, queryMember(ctx, "token") ?? "");
      const toForgot = site.path("/forgot");
      sendNotice(ctx, site, "good", ({ address: { stopped } }) => ({ ...stopped, more: wideLink(toForgot, stopped.choose) }));
    },
    async POST(ctx) {
      const form = await formBody(ctx);
      guard.assert(ctx, form, STOP);
      const link = form.get("token") ?? "";
      try {
        await stopAddressChange(link, ports, callerOf(ctx));
      } catch (error) {
        if (!isRefusal(error) || error.code !== "conflict") return show(ctx, link, failedForm(ctx, error, []));
        // The former address has another account now.
        const words = ({ address: { taken } }: Texts) => ({
          ...{ title: taken.title, text: taken.text(site.host), more: wideLink(site.path("/login"), taken.signIn) },
        });
        return sendNotice(ctx, site, "bad", words, 409);
      }
      sendRedirect(ctx, site.path(donePath(kit, ctx, "/address/stop", STOPPED)));
    },
  };
}
