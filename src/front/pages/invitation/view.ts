import { FIRST_OPERATOR_MINUTES } from "../../../accounts/invitations.ts";
import { catalogue, type Language } from "../../texts/language.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type FormPage, hidden, html, type Markup, type Site } from "../views/layout.ts";

export interface InvitationPage extends Omit<FormPage, "returnTo"> {
  readonly path: "/invitation" | "/setup";
  /** The token of the link. */
  readonly link: string;
  /** The invited address; undefined for the first operator, who types one. */
  readonly invited: string | undefined;
}

export function invitationView(site: Site, language: Language, { path, link, token, invited, email, faults }: InvitationPage): Markup {
  const texts = invitationTexts[language];
  const { title, lead } = invited === undefined ? texts.setup : texts.invited;
  return formView(site, language, {
    title,
    lead: lead(site.host),
    action: site.path(path),
    members: html`${hidden(token)}<input type="hidden" name="token" value="${link}">`,
    fields: [
      { name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, autofocus: invited === undefined },
      {
        name: "password",
        label: texts.password,
        type: "password",
        autocomplete: "new-password",
        hint: texts.passwordHint,
        autofocus: invited !== undefined,
      },
    ],
    faults,
    submit: texts.submit,
  });
}

export function staleInvitationView(site: Site, language: Language, isSetup: boolean): Markup {
  const { title, setup, invited, signIn } = invitationTexts[language].stale;
  const text = isSetup ? setup(FIRST_OPERATOR_MINUTES) : invited(site.host);
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/login"), signIn) });
}

const invitationTexts = catalogue({
  en: {
    email: "E-mail address",
    password: "Password",
    passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
    submit: "Open the account",
    setup: {
      title: "Create the first operator",
      lead: (host: string) => `This account will manage ${host}: users, applications, settings. You can appoint further operators later.`,
    },
    invited: {
      title: "Choose a password",
      lead: (host: string) => `You have been invited to ${host}. Your address is confirmed by this link; only a password is missing.`,
    },
    stale: {
      title: "This link no longer works",
      setup: (minutes: number) =>
        `It was already used, replaced by a newer one, or is more than ${minutes} minutes old, or there is an operator already. A restart of the server prints a new one while there is no operator.`,
      invited: (host: string) =>
        `It was already used, replaced by a newer one, or has expired. Sign in if you have an account; otherwise ask an administrator of ${host} for a new invitation.`,
      signIn: "Sign in",
    },
  },
  de: {
    email: "E-Mail-Adresse",
    password: "Passwort",
    passwordHint: "Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.",
    submit: "Konto eröffnen",
    setup: {
      title: "Das erste Betreiberkonto anlegen",
      lead: (host) => `Dieses Konto verwaltet ${host}: Benutzer, Anwendungen, Einstellungen. Weitere Betreiber können Sie später ernennen.`,
    },
    invited: {
      title: "Wählen Sie ein Passwort",
      lead: (host) => `Sie sind zu ${host} eingeladen. Ihre Adresse ist durch diesen Link bestätigt; es fehlt nur ein Passwort.`,
    },
    stale: {
      title: "Dieser Link gilt nicht mehr",
      setup: (minutes) =>
        `Er wurde schon benutzt, durch einen neueren ersetzt oder ist älter als ${minutes} Minuten, oder es gibt schon ein Betreiberkonto. Solange es keines gibt, zeigt ein Neustart des Servers einen neuen Link.`,
      invited: (host) =>
        `Er wurde schon benutzt, durch einen neueren ersetzt oder ist abgelaufen. Melden Sie sich an, wenn Sie ein Konto haben; sonst bitten Sie die Administration von ${host} um eine neue Einladung.`,
      signIn: "Anmelden",
    },
  },
});
