import type { RefusalCode } from "../../errors.ts";
import { catalogue } from "./language.ts";

export type RefusalWords = Readonly<Record<"title" | "text", string>>;

export const refusalsTexts = catalogue({
  en: {
    /** By error code, for pages that only report the refusal. */
    pages: {
      forbidden: {
        title: "This form can no longer be used",
        text: "It has expired, or it did not come from this site. Nothing was changed. Go back, reload the page and try again.",
      },
      not_found: { title: "Page not found", text: "This page does not exist, or what it showed has been removed." },
      too_many_requests: { title: "Too many attempts", text: "Wait a while before you try again." },
      expired_token: { title: "This code has expired", text: "Start again on your device, and enter the new code that it shows." },
      temporarily_unavailable: {
        title: "Not available right now",
        text: "The service cannot answer at the moment. Nothing was changed. Please try again in a few seconds.",
      },
      invalid_client: {
        title: "Unknown application",
        text: "There is no such application here, or it has been disabled. Contact its provider.",
      },
    } satisfies { readonly [C in RefusalCode]?: RefusalWords },
    otherPage: { title: "This did not work", text: "The request was not complete. Go back and try again." },
    /** For an application's request that was answered, has expired, or was started in another browser. */
    requestOver: {
      title: "This link has expired",
      text: "Go back to the app and start again. Such a link works once, for a short time, and only in the browser in which you started.",
    },
    /** For an application's request that must not be answered by redirect. The error description follows below. */
    appRequest: {
      title: "This app's link does not work",
      text: "The app sent you here with a request that we cannot accept, so we did not send you back to it. Go to the app and report the details below.",
    },
    /** The link of a page that has no other. */
    toAccount: "Go to your account",
    /** For an internal error. */
    fault: { title: "Something went wrong", text: "This is our fault, and we have logged it. Please try again later." },
    /** Reasons that a user can act on. The three of a failed sign-in have the same text, so that they cannot be distinguished. */
    reasons: {
      account_disabled: "Wrong e-mail address or password.",
      account_unknown: "Wrong e-mail address or password.",
      password_wrong: "Wrong e-mail address or password.",
      sign_in_failures: "Too many failed attempts. Wait a while before you try again.",
      user_code_unknown: "That code is not right, or it has expired. Check what your device shows.",
      user_code_failures: "Too many wrong codes. Wait a while before you try again.",
      rate_limit: "Too many requests. Try again later.",
      email_taken: "There is already an account with this e-mail address.",
      invitation_of_other_address: "The invitation is for another e-mail address. Use the one to which it was sent.",
      sign_up_domain: "Addresses of this domain cannot open an account here.",
      password_short: "Choose a password of at least 8 characters.",
      password_long: "Choose a password of at most 128 characters.",
      password_is_email: "Choose a password that is not your e-mail address.",
      password_common: "This password is too easy to guess.",
      agent_unknown: "This agent does not exist or has been removed.",
      delegation_unknown: "This access has already ended.",
      link_unknown: "This wallet link has expired. Start again on your wallet page.",
      own_password_wrong: "That password is not right.",
      password_changed_since: "The password was changed in another place. Sign in with the new one.",
      last_operator: "You are the last operator. Make another user an operator first.",
      method_not_allowed: "This page does not support that request.",
      body_too_large: "The form is too large.",
      body_shape: "A field is missing or not valid. Go back and try again.",
    },
    otherReason: "This did not work. Check what you entered and try again.",
    /** By field that can be invalid. */
    fields: {
      email: "Enter an e-mail address, such as name@example.com.",
      password: "Enter a password of at most 128 characters.",
      currentPassword: "Enter a password of at most 128 characters.",
      firstName: "Use at most 100 characters for the first name. Invisible characters are not allowed.",
      lastName: "Use at most 100 characters for the last name. Invisible characters are not allowed.",
    },
    otherField: "This value is not valid.",
  },
  de: {
    pages: {
      forbidden: {
        title: "Dieses Formular gilt nicht mehr",
        text: "Es ist abgelaufen oder kam nicht von dieser Seite. Es wurde nichts geändert. Gehen Sie zurück, laden Sie die Seite neu und versuchen Sie es noch einmal.",
      },
      not_found: { title: "Seite nicht gefunden", text: "Diese Seite gibt es nicht, oder ihr Inhalt wurde entfernt." },
      too_many_requests: { title: "Zu viele Versuche", text: "Bitte warten Sie eine Weile, bevor Sie es erneut versuchen." },
      expired_token: {
        title: "Dieser Code ist abgelaufen",
        text: "Beginnen Sie auf Ihrem Gerät noch einmal, und geben Sie den neuen Code ein, den es anzeigt.",
      },
      temporarily_unavailable: {
        title: "Zurzeit nicht verfügbar",
        text: "Der Dienst kann im Augenblick nicht antworten. Es wurde nichts geändert. Bitte versuchen Sie es in einigen Sekunden erneut.",
      },
      invalid_client: {
        title: "Unbekannte Anwendung",
        text: "Diese Anwendung gibt es hier nicht, oder sie wurde abgeschaltet. Wenden Sie sich an die Anbieter der Anwendung.",
      },
    },
    otherPage: {
      title: "Das hat nicht geklappt",
      text: "Die Anfrage war nicht vollständig. Gehen Sie zurück und versuchen Sie es noch einmal.",
    },
    requestOver: {
      title: "Dieser Link ist abgelaufen",
      text: "Gehen Sie zurück zur App und beginnen Sie dort noch einmal. Ein solcher Link gilt einmal, für kurze Zeit und nur in dem Browser, in dem Sie begonnen haben.",
    },
    appRequest: {
      title: "Der Link dieser App funktioniert nicht",
      text: "Die App hat Sie mit einer Anfrage hergeschickt, die wir nicht annehmen können. Deshalb haben wir Sie nicht zu ihr zurückgeschickt. Gehen Sie zur App und melden Sie dort die Angaben unten.",
    },
    toAccount: "Zu Ihrem Konto",
    fault: {
      title: "Etwas ist schiefgegangen",
      text: "Der Fehler liegt bei uns, und wir haben ihn protokolliert. Bitte versuchen Sie es später erneut.",
    },
    reasons: {
      account_disabled: "E-Mail-Adresse oder Passwort ist falsch.",
      account_unknown: "E-Mail-Adresse oder Passwort ist falsch.",
      password_wrong: "E-Mail-Adresse oder Passwort ist falsch.",
      sign_in_failures: "Zu viele Fehlversuche. Bitte warten Sie eine Weile, bevor Sie es erneut versuchen.",
      user_code_unknown: "Dieser Code stimmt nicht oder ist abgelaufen. Vergleichen Sie ihn mit dem auf Ihrem Gerät.",
      user_code_failures: "Zu viele falsche Codes. Bitte warten Sie eine Weile, bevor Sie es erneut versuchen.",
      rate_limit: "Zu viele Anfragen. Bitte versuchen Sie es später erneut.",
      email_taken: "Zu dieser E-Mail-Adresse gibt es schon ein Konto.",
      invitation_of_other_address: "Die Einladung gilt für eine andere E-Mail-Adresse. Verwenden Sie die, an die sie gesendet wurde.",
      sign_up_domain: "Mit Adressen dieser Domain kann hier kein Konto angelegt werden.",
      password_short: "Wählen Sie ein Passwort mit mindestens 8 Zeichen.",
      password_long: "Wählen Sie ein Passwort mit höchstens 128 Zeichen.",
      password_is_email: "Wählen Sie ein Passwort, das nicht Ihre E-Mail-Adresse ist.",
      password_common: "Dieses Passwort ist zu leicht zu erraten.",
      agent_unknown: "Diesen Agenten gibt es nicht oder nicht mehr.",
      delegation_unknown: "Dieser Zugriff ist schon beendet.",
      link_unknown: "Diese Wallet-Verknüpfung ist abgelaufen. Beginnen Sie auf der Wallet-Seite von vorn.",
      own_password_wrong: "Das Passwort stimmt nicht.",
      password_changed_since: "Das Passwort wurde an anderer Stelle geändert. Melden Sie sich mit dem neuen an.",
      last_operator: "Sie sind der letzte Betreiber. Machen Sie zuerst jemand anderen dazu.",
      method_not_allowed: "Diese Seite unterstützt diese Anfrage nicht.",
      body_too_large: "Das Formular ist zu groß.",
      body_shape: "Eine Angabe fehlt oder stimmt nicht. Gehen Sie zurück und versuchen Sie es noch einmal.",
    },
    otherReason: "Das hat nicht geklappt. Bitte prüfen Sie Ihre Angaben und versuchen Sie es noch einmal.",
    fields: {
      email: "Geben Sie eine E-Mail-Adresse ein, zum Beispiel name@example.com.",
      password: "Geben Sie ein Passwort mit höchstens 128 Zeichen ein.",
      currentPassword: "Geben Sie ein Passwort mit höchstens 128 Zeichen ein.",
      firstName: "Der Vorname darf höchstens 100 Zeichen lang sein. Unsichtbare Zeichen sind nicht erlaubt.",
      lastName: "Der Nachname darf höchstens 100 Zeichen lang sein. Unsichtbare Zeichen sind nicht erlaubt.",
    },
    otherField: "Diese Angabe stimmt so nicht.",
  },
});
