import { Refusal } from "../../../errors.ts";
import type { Texts } from "../../../texts/languages.ts";
import { invocationOf, pollLink, pollReturned, type SeenLink, startLink, unlinkWallet } from "../../../wallet/linking.ts";
import type { LinkedWallet } from "../../../wallet/ports.ts";
import { DONE_MEMBER, donePath } from "../../done.ts";
import { exceptHead, type Route } from "../../http/routes.ts";
import type { WalletKit } from "../../wallet/handlers.ts";
import { WALLET_SCRIPT } from "../assets.ts";
import { pageErrorPrinter } from "../errors.ts";
import { accountForm, accountPageHandler, accountToken, goneAfter, queryMember, type Visit } from "../kit.ts";
import { answerOf } from "../routes.ts";
import { type AccountPage, doneWords, sendAccountPage } from "../views/cards.ts";
import { day, hidden, html, type Markup, moment, type Part, type Site, type Writing } from "../views/layout.ts";
import { qrCode } from "../views/qr-code.ts";
import { shownHost } from "../views/words.ts";

type WalletVisit = Visit & WalletKit;

/** The link of the page: by its handle, or by the response code that a wallet on this device returned with. */
async function linkOf(visit: WalletVisit, { signedIn }: AccountPage) {
  const [handle, returned] = [queryMember(visit, "handle"), queryMember(visit, "response_code")];
  if (returned !== undefined) return { link: await pollReturned(returned, signedIn, visit.linking, visit.caller) };
  return handle === undefined ? undefined : { link: await pollLink(handle, signedIn, visit.linking, visit.caller), handle };
}

/** GET /account/wallet: the linked wallet, the pending link, or the form to start one. */
const showPage = accountPageHandler<WalletVisit>(async (visit, page) => {
  const { done, signedIn } = page;
  const { site, linking } = visit;
  const { link, handle } = (await linkOf(visit, page)) ?? {};
  const texts = visit.texts.wallet;
  const words = link?.status === "linked" ? texts.nowLinked : doneWords(texts.done, done);
  const frame = { path: PATH, title: visit.texts.accountNav.sections.wallet, done: words };
  if (link?.status === "pending" && handle !== undefined) {
    const card = waitingCard(visit, link, handle, await invocationOf(handle, linking));
    return sendAccountPage(visit, { ...frame, head: refreshing(site) }, card);
  }
  const wallet = await linking.wallets.ofUser(signedIn.user.id);
  const token = accountToken(visit, signedIn.user);
  const card = wallet === undefined ? beginCard(site, texts, signedIn.user.email, token) : linkedCard(visit, wallet, token);
  sendAccountPage(
    visit,
    frame,
    html`${link !== undefined && failure(texts, link)}
${card}`,
  );
});

/** POST /account/wallet: starts a link. Its form shows the account and asks for confirmation before a wallet can scan anything. */
const beginPage = accountForm<WalletVisit>(async (visit, form, signedIn) => {
  const device = form.get("device");
  if (device !== "same" && device !== "other") throw new Refusal("invalid_request", "device_unknown");
  const { handle } = await startLink(signedIn, device === "same", visit.linking, visit.caller);
  return `/account/wallet?handle=${handle}`;
});

const unlinkPage = accountForm<WalletVisit>(async (visit, _form, signedIn) => {
  await goneAfter(unlinkWallet(signedIn, visit.linking, visit.caller));
  return donePath(visit, "/account/wallet", "unlinked");
});

/** The pages of wallet linking. They work without scripts; a script replaces reloading. */
export function walletPageRoutes(kit: WalletKit): readonly Route[] {
  const print = pageErrorPrinter(kit.site);
  return [
    { method: "GET", path: PATH, print, answer: exceptHead(answerOf(kit, showPage, ["handle", DONE_MEMBER])) },
    { method: "POST", path: PATH, print, answer: answerOf(kit, beginPage) },
    { method: "POST", path: `${PATH}/unlink`, print, answer: answerOf(kit, unlinkPage) },
  ];
}

const PATH = "/account/wallet";
/** Seconds after which a browser without scripts looks again. */
const LOOK_AGAIN = 5;

function failure(texts: WalletTexts, { status, reason }: SeenLink): Part {
  if (status === "pending" || status === "linked") return undefined;
  const words =
    reason === "account_has_wallet" ? texts.accountHasWallet : reason === "wallet_access_denied" ? texts.declined : texts.failed[status];
  return html`<p class="summary" role="alert">${words}</p>`;
}

/** With scripts the page asks for the state and loads once; without, the browser loads it every few seconds. */
const refreshing = (site: Site): Markup => html`<noscript><meta http-equiv="refresh" content="${LOOK_AGAIN}"></noscript>
<script type="module" src="${site.path(WALLET_SCRIPT.path)}"></script>`;

const beginCard = (site: Site, texts: WalletTexts, email: string, token: string) => html`<section class="card" aria-labelledby="begin">
<h2 id="begin">${texts.begin}</h2>
<p class="lead">${texts.beginText}</p>
<form class="stack" method="post" action="${site.path(PATH)}">
${hidden(token)}
<p>${texts.toAccount} <strong>${email}</strong>. ${texts.confirm}</p>
<button class="button" type="submit" name="device" value="other">${texts.otherDevice}</button>
<button class="button button-quiet" type="submit" name="device" value="same">${texts.sameDevice}</button>
</form>
</section>`;

const linkedCard = (
  { site, language, texts: { wallet: texts } }: Writing,
  { issuer, linkedAt }: LinkedWallet,
  token: string,
): Markup => html`<section class="card" aria-labelledby="linked">
<h2 id="linked">${texts.linked}</h2>
<dl class="facts facts-plain">
<div><dt>${texts.issuer}</dt><dd class="host">${shownHost(issuer)}</dd></div>
<div><dt>${texts.since}</dt><dd>${day(language, linkedAt)}</dd></div>
</dl>
<p class="small">${texts.unlinkText}</p>
<form method="post" action="${site.path(`${PATH}/unlink`)}">
${hidden(token)}
<button class="button button-deny" type="submit">${texts.unlink}</button>
</form>
</section>`;

function waitingCard(writing: Writing, { sameDevice, expiresAt }: SeenLink, handle: string, invocationUri: string): Markup {
  const { site, language } = writing;
  const { wallet: texts } = writing.texts;
  return html`<section class="card" aria-labelledby="waiting" data-link-status="${site.path(`/auth/link/wallet/${handle}`)}">
<h2 id="waiting">${sameDevice ? texts.waitingSame : texts.waitingOther}</h2>
<p class="lead">${sameDevice ? texts.waitingSameText : texts.waitingOtherText}</p>
${
  sameDevice
    ? html`<p class="wallet-open"><a class="button" href="${invocationUri}">${texts.openWallet}</a></p>`
    : html`<p class="qr-frame">${qrCode(invocationUri, texts.qrCode)}</p>`
}
<p class="small">${texts.goodUntil} ${moment(language, expiresAt)}. ${texts.looksByItself}</p>
<p class="small"><a href="${site.path(`${PATH}?handle=${handle}`)}">${texts.look}</a> · <a href="${site.path(PATH)}">${texts.startOver}</a></p>
</section>`;
}

type WalletTexts = Texts["wallet"];
