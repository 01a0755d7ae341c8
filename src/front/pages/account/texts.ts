import { catalogue } from "../../texts/language.ts";

export const accountTexts = catalogue({
  en: {
    title: "Your account",
    done: { revoked: "Access removed.", resent: "A new message is on its way to you.", named: "Your name has been saved." },
    profile: "Profile",
    name: "Name",
    firstName: "First name",
    lastName: "Last name",
    saveName: "Save name",
    email: "E-mail address",
    confirmed: "Confirmed",
    notConfirmed: "Not confirmed",
    memberSince: "Member since",
    resend: "Send the confirmation mail again",
    applications: "Applications with access",
    noApplications: "No application has access to your account.",
    /** Before the resources that an access works with. */
    worksWith: "Works with",
    allowedOn: "Allowed on",
    lastUsedOn: "last used on",
    remove: "Remove access",
    removeFrom: (name: string) => `Remove access from ${name}`,
  },
  de: {
    title: "Ihr Konto",
    done: {
      revoked: "Zugriff entfernt.",
      resent: "Eine neue Nachricht ist auf dem Weg zu Ihnen.",
      named: "Ihr Name wurde gespeichert.",
    },
    profile: "Profil",
    name: "Name",
    firstName: "Vorname",
    lastName: "Nachname",
    saveName: "Namen speichern",
    email: "E-Mail-Adresse",
    confirmed: "Bestätigt",
    notConfirmed: "Nicht bestätigt",
    memberSince: "Mitglied seit",
    resend: "Bestätigungsmail erneut senden",
    applications: "Anwendungen mit Zugriff",
    noApplications: "Keine Anwendung hat Zugriff auf Ihr Konto.",
    worksWith: "Gilt bei",
    allowedOn: "Erlaubt am",
    lastUsedOn: "zuletzt genutzt am",
    remove: "Zugriff entfernen",
    removeFrom: (name) => `Zugriff von ${name} entfernen`,
  },
});

export type AccountTexts = (typeof accountTexts)["en"];
