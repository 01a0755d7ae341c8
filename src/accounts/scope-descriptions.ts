import type { Catalogue, Language } from "../language.ts";

/** A text in at least one language. */
export type Wording = { readonly [L in Language]?: string | undefined };

/** What a scope allows, in words for users. */
export type ScopeDescription = { readonly name: string; readonly title: Wording; readonly detail: Wording };

export interface ScopeDescriptions {
  /** The descriptions that operators of a realm gave to some of these scopes, by name. */
  of(realmId: string, names: readonly string[]): Promise<ReadonlyMap<string, ScopeDescription>>;
}

const described = (name: string, title: Catalogue<string>, detail: Catalogue<string>): ScopeDescription => ({ name, title, detail });

/** Descriptions of the built-in scopes, which operators can replace. */
export const BUILT_IN_SCOPES: readonly ScopeDescription[] = [
  described(
    "openid",
    { en: "Know who you are", de: "Wissen, wer Sie sind" },
    {
      en: "Recognise you when you come back. Your password is never shared.",
      de: "Sie wiedererkennen, wenn Sie zurückkommen. Ihr Passwort wird nie weitergegeben.",
    },
  ),
  described(
    "profile",
    { en: "See your name", de: "Ihren Namen sehen" },
    { en: "Your first and last name, if you gave them.", de: "Ihren Vor- und Nachnamen, wenn Sie ihn angegeben haben." },
  ),
  described(
    "email",
    { en: "See your e-mail address", de: "Ihre E-Mail-Adresse sehen" },
    { en: "The address, and whether it is confirmed.", de: "Die Adresse, und ob sie bestätigt ist." },
  ),
  described(
    "offline_access",
    { en: "Keep access while you are away", de: "Zugriff behalten, auch wenn Sie nicht da sind" },
    { en: "Stay connected until you remove the access.", de: "Verbunden bleiben, bis Sie den Zugriff entfernen." },
  ),
  described(
    "clients:manage",
    { en: "Manage your applications", de: "Ihre Anwendungen verwalten" },
    {
      en: "Create, change and delete the applications that you develop.",
      de: "Anwendungen, die Sie entwickeln, anlegen, ändern und löschen.",
    },
  ),
  described(
    "agent:readonly",
    { en: "Let an AI agent read for you", de: "Einen KI-Agenten für Sie lesen lassen" },
    { en: "An agent may look things up, but change nothing.", de: "Ein Agent darf nachsehen, aber nichts ändern." },
  ),
  described(
    "agent:admin",
    { en: "Let an AI agent change things for you", de: "Einen KI-Agenten für Sie ändern lassen" },
    { en: "An agent may change settings and data in your name.", de: "Ein Agent darf in Ihrem Namen Einstellungen und Daten ändern." },
  ),
  described(
    "agent:exec",
    { en: "Let an AI agent act for you", de: "Einen KI-Agenten für Sie handeln lassen" },
    { en: "An agent may carry out actions in your name.", de: "Ein Agent darf in Ihrem Namen Handlungen ausführen." },
  ),
];
