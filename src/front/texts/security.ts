import type { Catalogue } from "./language.ts";

export interface SecurityTexts {
  readonly title: string;
  readonly everywhere: string;
  readonly everywhereText: string;
  readonly everywhereSubmit: string;
}

export const securityTexts: Catalogue<SecurityTexts> = {
  en: {
    title: "Security",
    everywhere: "Sign out everywhere",
    everywhereText:
      "Ends every browser session and every application's lasting access to your account, this browser's included. What you allowed stays listed among your applications.",
    everywhereSubmit: "Sign out everywhere",
  },
  de: {
    title: "Sicherheit",
    everywhere: "Überall abmelden",
    everywhereText:
      "Beendet jede Browser-Sitzung und jeden dauerhaften Zugriff von Anwendungen auf Ihr Konto, auch in diesem Browser. Was Sie erlaubt haben, bleibt bei Ihren Anwendungen aufgeführt.",
    everywhereSubmit: "Überall abmelden",
  },
};
