import { catalogue } from "../../texts/language.ts";

export const clientTexts = catalogue({
  en: {
    /** For an application whose name has no visible characters. */
    nameless: "An application without a name",
    /** A client to which an application may hand on its access. */
    agent: (name: string) => `${name} (agent)`,
    application: (name: string) => `${name} (application)`,
    publishedBy: "Published by",
    verified: "Verified",
    nameUnverified: "Name not verified",
    sendsBackTo: "Sends you back to",
    /** Between the host of the application and the host that the browser goes back to. */
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
});

export type ClientTexts = (typeof clientTexts)["en"];
