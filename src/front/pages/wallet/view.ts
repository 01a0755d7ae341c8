import { encode } from "uqr";
import type { SeenLink } from "../../../wallet/linking.ts";
import type { LinkedWallet } from "../../../wallet/ports.ts";
import { type Language, shownDay, shownMoment } from "../../texts/language.ts";
import { type AccountPage, accountFrame, doneWords } from "../account-page.ts";
import { WALLET_SCRIPT } from "../assets.ts";
import { html, type Markup, type Part } from "../html.ts";
import type { Site } from "../site.ts";
import { shownHost } from "../views/client.ts";
import { hidden } from "../views/layout.ts";
import { type WalletTexts, walletTexts } from "./texts.ts";

/** A link that waits for its wallet. */
export interface WaitingLink extends Pick<SeenLink, "sameDevice" | "expiresAt"> {
  readonly handle: string;
  readonly invocationUri: string;
}

export interface WalletPage extends Pick<AccountPage, "token" | "done"> {
  readonly email: string;
  readonly wallet: LinkedWallet | undefined;
  readonly waiting: WaitingLink | undefined;
  /** The link of this page, once it is decided. */
  readonly decided: SeenLink | undefined;
}

const PATH = "/account/wallet";
/** Seconds after which a browser without scripts looks again. */
const LOOK_AGAIN = 5;

export function walletView(site: Site, language: Language, page: WalletPage): Markup {
  const texts = walletTexts[language];
  const { wallet, waiting, decided, done } = page;
  const frame = {
    language,
    path: PATH,
    title: texts.title,
    done: decided?.status === "linked" ? texts.nowLinked : doneWords(texts.done, done),
  };
  if (waiting !== undefined) return accountFrame(site, { ...frame, head: refreshing(site) }, waitingCard(site, language, waiting));
  return accountFrame(
    site,
    frame,
    html`${decided !== undefined && failure(texts, decided)}
${wallet === undefined ? beginCard(site, texts, page) : linkedCard(site, language, wallet, page.token)}`,
  );
}

function failure(texts: WalletTexts, { status, reason }: SeenLink): Part {
  if (status === "pending" || status === "linked") return undefined;
  const words =
    reason === "account_has_wallet" ? texts.accountHasWallet : reason === "wallet_access_denied" ? texts.declined : texts.failed[status];
  return html`<p class="summary" role="alert">${words}</p>`;
}

/** With scripts the page asks for the state and loads once; without, the browser loads it every few seconds. */
const refreshing = (site: Site): Markup => html`<noscript><meta http-equiv="refresh" content="${LOOK_AGAIN}"></noscript>
<script src="${site.path(WALLET_SCRIPT.path)}" defer></script>`;

const beginCard = (site: Site, texts: WalletTexts, { email, token }: WalletPage) => html`<section class="card" aria-labelledby="begin">
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
  site: Site,
  language: Language,
  { issuer, linkedAt }: LinkedWallet,
  token: string,
): Markup => html`<section class="card" aria-labelledby="linked">
<h2 id="linked">${walletTexts[language].linked}</h2>
<dl class="facts facts-plain">
<div><dt>${walletTexts[language].issuer}</dt><dd class="host">${shownHost(issuer)}</dd></div>
<div><dt>${walletTexts[language].since}</dt><dd>${shownDay(language, linkedAt)}</dd></div>
</dl>
<p class="small">${walletTexts[language].unlinkText}</p>
<form method="post" action="${site.path(`${PATH}/unlink`)}">
${hidden(token)}
<button class="button button-deny" type="submit">${walletTexts[language].unlink}</button>
</form>
</section>`;

function waitingCard(site: Site, language: Language, { handle, invocationUri, sameDevice, expiresAt }: WaitingLink): Markup {
  const texts = walletTexts[language];
  return html`<section class="card" aria-labelledby="waiting" data-link-status="${site.path(`/auth/link/wallet/${handle}`)}">
<h2 id="waiting">${sameDevice ? texts.waitingSame : texts.waitingOther}</h2>
<p class="lead">${sameDevice ? texts.waitingSameText : texts.waitingOtherText}</p>
${
  sameDevice
    ? html`<p class="wallet-open"><a class="button" href="${invocationUri}">${texts.openWallet}</a></p>`
    : html`<p class="qr-frame">${qrCode(invocationUri, texts.qrCode)}</p>`
}
<p class="small">${texts.goodUntil(shownMoment(language, expiresAt))} ${texts.looksByItself}</p>
<p class="small"><a href="${site.path(`${PATH}?handle=${handle}`)}">${texts.look}</a> · <a href="${site.path(PATH)}">${texts.startOver}</a></p>
</section>`;
}

/** Modules of empty space around a code (ISO/IEC 18004 §5.3.8). */
const QUIET = 4;

/** A text as a QR code, black on white in every colour scheme. @param label for screen readers */
function qrCode(text: string, label: string): Markup {
  const { data, size } = encode(text, { ecc: "L", border: QUIET });
  const dark = data.flatMap((row, y) => row.map((is, x) => (is ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges">
<rect width="${size}" height="${size}" fill="#fff"/><path d="${dark}" fill="#000"/></svg>`;
}
