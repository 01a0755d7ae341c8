import { encode } from "uqr";
import type { PublicState, SeenLink } from "../../../wallet/linking.ts";
import type { LinkedWallet } from "../../../wallet/ports.ts";
import { catalogue, type Language, shownDay, shownMoment } from "../../texts/language.ts";
import { WALLET_SCRIPT } from "../assets.ts";
import { type AccountPage, accountFrame, doneWords, hidden, html, type Markup, type Part, type Site } from "../views/layout.ts";
import { shownHost } from "../views/words.ts";

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

const walletTexts = catalogue({
  en: {
    title: "Wallet",
    linked: "Linked wallet",
    issuer: "Credential from",
    since: "Linked on",
    unlink: "Unlink the wallet",
    unlinkText: "The credential in your wallet stays as it is. You can link a wallet again at any time.",
    begin: "Link a wallet",
    beginText:
      "You show a credential from the wallet on your phone. We keep its issuer and the one claim that identifies you, and nothing else.",
    /** Before the address of the account. */
    toAccount: "The wallet will be linked to the account",
    confirm: "Continue only if this is your account and you started this.",
    otherDevice: "Yes, the wallet is on another device",
    sameDevice: "Yes, the wallet is on this device",
    waitingOther: "Scan this code with your wallet",
    waitingOtherText: "Confirm in the wallet, then come back to this page.",
    waitingSame: "Open your wallet",
    waitingSameText: "Confirm in the wallet. It brings you back to this browser.",
    qrCode: "QR code with the request to your wallet",
    openWallet: "Open the wallet",
    goodUntil: (moment: string) => `The request is valid until ${moment}.`,
    looksByItself: "This page checks by itself whether your wallet has answered.",
    look: "Check now",
    startOver: "Start over",
    /** Why a link failed. */
    failed: {
      conflict: "This wallet is linked to another account. Nothing was changed.",
      expired: "The request has expired. Start again.",
      rejected: "The wallet's answer was not accepted. Nothing was linked.",
    } satisfies Record<Exclude<PublicState, "pending" | "linked">, string>,
    accountHasWallet: "Your account is linked to another wallet. Unlink that one first.",
    declined: "You declined in the wallet. Nothing was linked.",
    nowLinked: "Your wallet is linked.",
    done: { unlinked: "The wallet is no longer linked." },
  },
  de: {
    title: "Wallet",
    linked: "Verknüpfte Wallet",
    issuer: "Nachweis von",
    since: "Verknüpft am",
    unlink: "Verknüpfung lösen",
    unlinkText: "Der Nachweis in Ihrer Wallet bleibt, wie er ist. Sie können jederzeit wieder eine Wallet verknüpfen.",
    begin: "Wallet verknüpfen",
    beginText:
      "Sie zeigen einen Nachweis aus der Wallet auf Ihrem Telefon vor. Wir behalten, wer ihn ausgestellt hat, und die eine Angabe, die Sie unterscheidet, sonst nichts.",
    toAccount: "Die Wallet wird verknüpft mit dem Konto",
    confirm: "Fahren Sie nur fort, wenn das Ihr Konto ist und Sie dies selbst begonnen haben.",
    otherDevice: "Ja, die Wallet ist auf einem anderen Gerät",
    sameDevice: "Ja, die Wallet ist auf diesem Gerät",
    waitingOther: "Scannen Sie diesen Code mit Ihrer Wallet",
    waitingOtherText: "Stimmen Sie in der Wallet zu, und kommen Sie auf diese Seite zurück.",
    waitingSame: "Öffnen Sie Ihre Wallet",
    waitingSameText: "Stimmen Sie in der Wallet zu. Sie bringt Sie in diesen Browser zurück.",
    qrCode: "QR-Code mit der Anfrage an Ihre Wallet",
    openWallet: "Wallet öffnen",
    goodUntil: (moment) => `Die Anfrage gilt bis ${moment}.`,
    looksByItself: "Diese Seite sieht von selbst nach, ob Ihre Wallet geantwortet hat.",
    look: "Jetzt nachsehen",
    startOver: "Von vorn beginnen",
    failed: {
      conflict: "Diese Wallet ist mit einem anderen Konto verknüpft. Es wurde nichts geändert.",
      expired: "Die Anfrage ist abgelaufen. Beginnen Sie von vorn.",
      rejected: "Die Antwort der Wallet wurde nicht angenommen. Es wurde nichts verknüpft.",
    },
    accountHasWallet: "Ihr Konto ist mit einer anderen Wallet verknüpft. Lösen Sie zuerst diese.",
    declined: "Sie haben in der Wallet abgelehnt. Es wurde nichts verknüpft.",
    nowLinked: "Ihre Wallet ist verknüpft.",
    done: { unlinked: "Die Wallet ist nicht mehr verknüpft." },
  },
});

type WalletTexts = (typeof walletTexts)["en"];
