import type { PublicState } from "../../../wallet/link-state.ts";
import { catalogue } from "../../texts/language.ts";

export const walletTexts = catalogue({
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

export type WalletTexts = (typeof walletTexts)["en"];
