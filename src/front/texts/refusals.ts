import type { RefusalCode } from "../../errors.ts";
import type { Catalogue } from "./language.ts";

export interface RefusalWords {
  readonly title: string;
  readonly text: string;
}

/** Reasons that a person can do something about. The three of a failed sign-in read alike, for they must not be told apart. */
export type ShownReason =
  | "account_unknown"
  | "account_disabled"
  | "password_wrong"
  | "sign_in_failures"
  | "rate_limit"
  | "email_taken"
  | "password_short"
  | "password_long"
  | "password_is_email"
  | "password_common"
  | "agent_unknown"
  | "delegation_unknown"
  | "link_unknown"
  | "own_password_wrong"
  | "password_changed_since"
  | "last_operator"
  | "method_not_allowed"
  | "body_too_large"
  | "body_shape";

/** Fields whose shape can be at fault. */
export type ShownField = "email" | "password" | "currentPassword" | "firstName" | "lastName";

export interface RefusalsTexts {
  /** By code, for pages that have nothing but the refusal to say. */
  readonly pages: { readonly [C in RefusalCode]?: RefusalWords };
  readonly otherPage: RefusalWords;
  /** Of an application's request that was answered, has expired, or began in another browser. */
  readonly requestOver: RefusalWords;
  /** An application's request that may not be answered by redirect; what is wrong with it stands below in the words of the standards. */
  readonly appRequest: RefusalWords;
  /** The way on from a page that has none of its own. */
  readonly toAccount: string;
  /** A fault of ours. */
  readonly fault: RefusalWords;
  readonly reasons: Readonly<Record<ShownReason, string>>;
  readonly otherReason: string;
  readonly fields: Readonly<Record<ShownField, string>>;
  readonly otherField: string;
}

const en: RefusalsTexts = {
  pages: {
    forbidden: {
      title: "This form can no longer be used",
      text: "It has expired, or it did not come from this site. Nothing was changed. Go back, reload the page and try again.",
    },
    not_found: { title: "There is nothing here", text: "The page does not exist, or what it showed is gone." },
    too_many_requests: { title: "Too many attempts", text: "Wait a while before you try again." },
    temporarily_unavailable: {
      title: "Not available right now",
      text: "The service cannot answer at the moment. Nothing was changed. Please try again in a few seconds.",
    },
    invalid_client: {
      title: "This application is not known here",
      text: "It was removed or switched off. Go back to it and ask its makers.",
    },
  },
  otherPage: { title: "This did not work", text: "The request was not complete. Go back and try again." },
  requestOver: {
    title: "This link has expired",
    text: "Go back to the app and start again. Such a link works once, for a short time, and only in the browser in which you started.",
  },
  appRequest: {
    title: "This app's link does not work",
    text: "The app sent you here with a request that we cannot accept, so we did not send you back to it. Go to the app and report the details below.",
  },
  toAccount: "Go to your account",
  fault: { title: "Something went wrong", text: "The fault is ours and has been noted. Please try again later." },
  reasons: {
    account_disabled: "Wrong e-mail address or password.",
    account_unknown: "Wrong e-mail address or password.",
    password_wrong: "Wrong e-mail address or password.",
    sign_in_failures: "Too many failed attempts. Wait a while before you try again.",
    rate_limit: "Too many requests. Try again later.",
    email_taken: "There is an account with this e-mail address already.",
    password_short: "Choose a password of at least 8 characters.",
    password_long: "Choose a password of at most 128 characters.",
    password_is_email: "Choose a password that is not your e-mail address.",
    password_common: "This password is on the list of those that are guessed first. Choose another one.",
    agent_unknown: "There is no such agent, or it is gone.",
    delegation_unknown: "This has ended already.",
    link_unknown: "This link to a wallet is over. Begin again on the page of your wallet.",
    own_password_wrong: "This is not your password.",
    password_changed_since: "The password has been changed meanwhile. Sign in with the new one.",
    last_operator: "You are the last operator. Make somebody else an operator first.",
    method_not_allowed: "This page cannot be asked for in this way.",
    body_too_large: "What was sent is too large.",
    body_shape: "Something is missing or filled in wrongly. Go back and try again.",
  },
  otherReason: "This did not work. Check what you entered and try again.",
  fields: {
    email: "Enter an e-mail address, such as name@example.com.",
    password: "Enter a password of at most 128 characters.",
    currentPassword: "Enter a password of at most 128 characters.",
    firstName: "Use at most 100 characters for the first name. Characters that cannot be seen are not allowed.",
    lastName: "Use at most 100 characters for the last name. Characters that cannot be seen are not allowed.",
  },
  otherField: "This field is filled in wrongly.",
};

const de: RefusalsTexts = {
  pages: {
    forbidden: {
      title: "Dieses Formular gilt nicht mehr",
      text: "Es ist abgelaufen oder kam nicht von dieser Seite. Es wurde nichts geändert. Gehen Sie zurück, laden Sie die Seite neu und versuchen Sie es noch einmal.",
    },
    not_found: { title: "Hier ist nichts", text: "Die Seite gibt es nicht, oder das, was sie zeigte, ist nicht mehr da." },
    too_many_requests: { title: "Zu viele Versuche", text: "Bitte warten Sie eine Weile, bevor Sie es erneut versuchen." },
    temporarily_unavailable: {
      title: "Zurzeit nicht verfügbar",
      text: "Der Dienst kann im Augenblick nicht antworten. Es wurde nichts geändert. Bitte versuchen Sie es in einigen Sekunden erneut.",
    },
    invalid_client: {
      title: "Diese Anwendung ist hier nicht bekannt",
      text: "Sie wurde entfernt oder abgeschaltet. Gehen Sie zu ihr zurück und fragen Sie die Anbieter.",
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
    text: "Der Fehler liegt bei uns und wurde festgehalten. Bitte versuchen Sie es später erneut.",
  },
  reasons: {
    account_disabled: "E-Mail-Adresse oder Passwort ist falsch.",
    account_unknown: "E-Mail-Adresse oder Passwort ist falsch.",
    password_wrong: "E-Mail-Adresse oder Passwort ist falsch.",
    sign_in_failures: "Zu viele Fehlversuche. Bitte warten Sie eine Weile, bevor Sie es erneut versuchen.",
    rate_limit: "Zu viele Anfragen. Bitte versuchen Sie es später erneut.",
    email_taken: "Zu dieser E-Mail-Adresse gibt es schon ein Konto.",
    password_short: "Wählen Sie ein Passwort mit mindestens 8 Zeichen.",
    password_long: "Wählen Sie ein Passwort mit höchstens 128 Zeichen.",
    password_is_email: "Wählen Sie ein Passwort, das nicht Ihre E-Mail-Adresse ist.",
    password_common: "Dieses Passwort gehört zu denen, die zuerst geraten werden. Bitte wählen Sie ein anderes.",
    agent_unknown: "Diesen Agenten gibt es nicht oder nicht mehr.",
    delegation_unknown: "Das ist schon beendet.",
    link_unknown: "Diese Verknüpfung mit einer Wallet ist vorbei. Beginnen Sie auf der Seite Ihrer Wallet von vorn.",
    own_password_wrong: "Das ist nicht Ihr Passwort.",
    password_changed_since: "Das Passwort wurde inzwischen geändert. Melden Sie sich mit dem neuen an.",
    last_operator: "Sie sind der letzte Betreiber. Machen Sie zuerst jemand anderen dazu.",
    method_not_allowed: "Diese Seite lässt sich so nicht aufrufen.",
    body_too_large: "Die gesendeten Angaben sind zu groß.",
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
};

export const refusalsTexts: Catalogue<RefusalsTexts> = { en, de };
