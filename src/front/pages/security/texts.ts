import { catalogue } from "../../texts/language.ts";

export const securityTexts = catalogue({
  en: {
    title: "Security",
    done: {
      password: "Your password has been changed. Everything else that was signed in has been signed out.",
      session: "The session has been signed out.",
      others: "All other sessions have been signed out.",
    },
    password: "Password",
    passwordText: "A new password signs you out everywhere but here.",
    currentPassword: "Current password",
    newPassword: "New password",
    passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
    passwordSubmit: "Change password",
    forgotten: "Forgot your password?",
    sessions: "Where you are signed in",
    sessionsText: "Sign out what you do not know or no longer use, and change your password if somebody else was there.",
    thisBrowser: "This browser",
    /** Of a browser that does not identify itself. */
    unknownDevice: "Unknown program",
    device: (browser: string, system: string) => `${browser} on ${system}`,
    signedInAt: "Signed in on",
    lastSeenAt: "Last seen about",
    fromAddress: "From the address",
    signOut: "Sign out",
    signOutOf: (device: string, since: string) => `Sign out ${device}, signed in on ${since}`,
    signOutOthers: "Sign out all others",
    everywhere: "Sign out everywhere",
    everywhereText:
      "Ends every browser session and every application's lasting access to your account, this browser's included. What you allowed stays listed among your applications.",
    everywhereSubmit: "Sign out everywhere",
  },
  de: {
    title: "Sicherheit",
    done: {
      password: "Ihr Passwort wurde geändert. Alles andere, was angemeldet war, ist jetzt abgemeldet.",
      session: "Die Sitzung wurde abgemeldet.",
      others: "Alle anderen Sitzungen wurden abgemeldet.",
    },
    password: "Passwort",
    passwordText: "Ein neues Passwort meldet Sie überall ab, nur hier nicht.",
    currentPassword: "Bisheriges Passwort",
    newPassword: "Neues Passwort",
    passwordHint: "Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.",
    passwordSubmit: "Passwort ändern",
    forgotten: "Passwort vergessen?",
    sessions: "Wo Sie angemeldet sind",
    sessionsText:
      "Melden Sie ab, was Sie nicht kennen oder nicht mehr benutzen, und ändern Sie Ihr Passwort, wenn jemand anderes angemeldet war.",
    thisBrowser: "Dieser Browser",
    unknownDevice: "Unbekanntes Programm",
    device: (browser, system) => `${browser} auf ${system}`,
    signedInAt: "Angemeldet am",
    lastSeenAt: "Zuletzt gesehen etwa am",
    fromAddress: "Von der Adresse",
    signOut: "Abmelden",
    signOutOf: (device, since) => `${device} abmelden, angemeldet am ${since}`,
    signOutOthers: "Alle anderen abmelden",
    everywhere: "Überall abmelden",
    everywhereText:
      "Beendet jede Browser-Sitzung und jeden dauerhaften Zugriff von Anwendungen auf Ihr Konto, auch in diesem Browser. Was Sie erlaubt haben, bleibt bei Ihren Anwendungen aufgeführt.",
    everywhereSubmit: "Überall abmelden",
  },
});

export type SecurityTexts = (typeof securityTexts)["en"];
