import type { Catalogue } from "./language.ts";

/** What pages say of an application. */
export interface ClientTexts {
  /** For one whose own name has nothing in it that can be shown. */
  readonly nameless: string;
  /** One to whom an access may be handed on. */
  readonly agent: (name: string) => string;
  readonly application: (name: string) => string;
  readonly publishedBy: string;
  readonly verified: string;
  readonly nameUnverified: string;
  readonly sendsBackTo: string;
  /** Between the host of the application and the host that the browser goes back to. */
  readonly backTo: string;
  readonly thisDevice: string;
  readonly stage: string;
  readonly stages: Readonly<Record<"development" | "staging", string>>;
  readonly deviceCaution: string;
  readonly unverifiedCaution: string;
}

export const clientTexts: Catalogue<ClientTexts> = {
  en: {
    nameless: "An application without a name",
    agent: (name) => `${name} (agent)`,
    application: (name) => `${name} (application)`,
    publishedBy: "Published by",
    verified: "Verified",
    nameUnverified: "Name not verified",
    sendsBackTo: "Sends you back to",
    backTo: "back to",
    thisDevice: "this device",
    stage: "Stage",
    stages: { development: "In development", staging: "In testing (staging)" },
    deviceCaution: "The access goes to a program on this device. Continue only if you started it yourself just now.",
    unverifiedCaution: "This application chose its name itself and nobody has checked it. Continue only if you expected this page.",
  },
  de: {
    nameless: "Eine Anwendung ohne Namen",
    agent: (name) => `${name} (Agent)`,
    application: (name) => `${name} (Anwendung)`,
    publishedBy: "Herausgegeben von",
    verified: "Geprüft",
    nameUnverified: "Name nicht geprüft",
    sendsBackTo: "Führt zurück zu",
    backTo: "zurück zu",
    thisDevice: "dieses Gerät",
    stage: "Stand",
    stages: { development: "In Entwicklung", staging: "In Erprobung (staging)" },
    deviceCaution: "Der Zugriff geht an ein Programm auf diesem Gerät. Machen Sie nur weiter, wenn Sie es gerade selbst gestartet haben.",
    unverifiedCaution:
      "Diese Anwendung hat ihren Namen selbst gewählt, und niemand hat ihn geprüft. Machen Sie nur weiter, wenn Sie diese Seite erwartet haben.",
  },
};
