import type { Catalogue } from "../../texts/language.ts";

/** What pages say about an application. */
export interface ClientTexts {
  /** For an application whose name has no visible characters. */
  readonly nameless: string;
  /** A client to which an application may hand on its access. */
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
    stages: { development: "Test version", staging: "Preview version" },
    deviceCaution: "The app runs on this device. Continue only if you just started it.",
    unverifiedCaution: "We have not verified who made this app. Continue only if you started this.",
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
    stages: { development: "Testversion", staging: "Vorabversion" },
    deviceCaution: "Die App läuft auf diesem Gerät. Machen Sie nur weiter, wenn Sie sie gerade gestartet haben.",
    unverifiedCaution: "Wir haben nicht geprüft, von wem diese App stammt. Machen Sie nur weiter, wenn Sie dies selbst begonnen haben.",
  },
};
