import { Refusal } from "../../../errors.ts";
import { invocationOf, pollLink, pollReturned, type SeenLink, startLink, unlinkWallet } from "../../../wallet/linking.ts";
import { DONE_MEMBER, donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { pageHeaders, SCRIPTED_POLICY } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import { exceptHead, type FrontContext, type Handler, type Route } from "../../http/routes.ts";
import type { WalletKit } from "../../wallet/handlers.ts";
import { WALLET_SCRIPT } from "../assets.ts";
import { pageErrorPrinter } from "../errors.ts";
import { accountForm, accountPageHandler, goneAfter, queryMember } from "../kit.ts";
import { inChosenLanguage } from "../routes.ts";
import type { AccountPage } from "../views/account-frame.ts";
import { sendPage } from "../views/layout.ts";
import { type WaitingLink, walletView } from "./view.ts";

/** The link of the page: by its handle, or by the response code that a wallet on this device returned with. */
async function linkOf(kit: WalletKit, ctx: FrontContext, { signedIn }: AccountPage) {
  const [handle, returned] = [queryMember(ctx, "handle"), queryMember(ctx, "response_code")];
  if (returned !== undefined) return { link: await pollReturned(returned, signedIn, kit.linking, callerOf(ctx)) };
  return handle === undefined ? undefined : { link: await pollLink(handle, signedIn, kit.linking, callerOf(ctx)), handle };
}

/** GET /account/wallet: the linked wallet, the pending link, or the form to start one. */
const showPage = (kit: WalletKit): Handler =>
  accountPageHandler(kit, async (ctx, page) => {
    const { user } = page.signedIn;
    const { link, handle } = (await linkOf(kit, ctx, page)) ?? {};
    const waiting = link?.status === "pending" && handle !== undefined ? await waitingLink(kit, link, handle) : undefined;
    const wallet = await kit.linking.wallets.ofUser(user.id);
    const { token, done } = page;
    sendPage(ctx, walletView(kit.site, languageOf(ctx), { email: user.email, token, wallet, waiting, decided: link, done }));
    if (waiting !== undefined) pageHeaders(ctx, SCRIPTED_POLICY);
  });

const waitingLink = async (kit: WalletKit, { sameDevice, expiresAt }: SeenLink, handle: string): Promise<WaitingLink> => ({
  handle,
  sameDevice,
  expiresAt,
  invocationUri: await invocationOf(handle, kit.linking),
});

/** POST /account/wallet: starts a link. Its form shows the account and asks for confirmation before a wallet can scan anything. */
const beginPage = (kit: WalletKit): Handler =>
  accountForm(kit, async (ctx, form, signedIn) => {
    const device = form.get("device");
    if (device !== "same" && device !== "other") throw new Refusal("invalid_request", "device_unknown");
    const { handle } = await startLink(signedIn, device === "same", kit.linking, callerOf(ctx));
    return `/account/wallet?handle=${handle}`;
  });

const unlinkPage = (kit: WalletKit): Handler =>
  accountForm(kit, async (ctx, _form, signedIn) => {
    await goneAfter(unlinkWallet(signedIn, kit.linking, callerOf(ctx)));
    return donePath(kit, ctx, "/account/wallet", "unlinked");
  });

/** The pages of wallet linking. They work without scripts; a script replaces reloading. */
export function walletPageRoutes(kit: WalletKit): readonly Route[] {
  const print = pageErrorPrinter(kit.site);
  return [
    { method: "GET", path: "/account/wallet", print, answer: exceptHead(inChosenLanguage(kit, showPage(kit), ["handle", DONE_MEMBER])) },
    { method: "POST", path: "/account/wallet", print, answer: beginPage(kit) },
    { method: "POST", path: "/account/wallet/unlink", print, answer: unlinkPage(kit) },
    { method: "GET", path: WALLET_SCRIPT.path, print, answer: WALLET_SCRIPT.handler },
  ];
}
