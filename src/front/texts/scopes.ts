import type { Catalogue } from "./language.ts";

/** What a scope allows, in words for a person. */
export interface ScopeWords {
  readonly title: string;
  readonly detail: string;
}

export interface ScopesTexts {
  /** The scopes that the service itself gives a meaning. */
  readonly builtIn: ReadonlyMap<string, ScopeWords>;
  /** Of a scope that nobody has described. */
  readonly ownPermission: string;
  readonly permissionAt: (places: string) => string;
}

export const scopesTexts: Catalogue<ScopesTexts> = {
  en: {
    builtIn: new Map([
      ["openid", { title: "Know who you are", detail: "Recognise you when you come back. Your password is never shared." }],
      ["profile", { title: "See your name", detail: "Your first and last name, if you gave them." }],
      ["email", { title: "See your e-mail address", detail: "The address, and whether it is confirmed." }],
      ["offline_access", { title: "Keep access while you are away", detail: "Stay connected until you take the access back." }],
      ["clients:manage", { title: "Manage your applications", detail: "Create, change and delete the applications that you develop." }],
      ["agent:readonly", { title: "Let an AI agent read for you", detail: "An agent may look things up, but change nothing." }],
      ["agent:admin", { title: "Let an AI agent change things for you", detail: "An agent may change settings and data in your name." }],
      ["agent:exec", { title: "Let an AI agent act for you", detail: "An agent may carry out actions in your name." }],
    ]),
    ownPermission: "A permission of the application itself.",
    permissionAt: (places) => `A permission at ${places}.`,
  },
  de: {
    builtIn: new Map([
      [
        "openid",
        { title: "Wissen, wer Sie sind", detail: "Sie wiedererkennen, wenn Sie zurückkommen. Ihr Passwort wird nie weitergegeben." },
      ],
      ["profile", { title: "Ihren Namen sehen", detail: "Ihren Vor- und Nachnamen, wenn Sie ihn angegeben haben." }],
      ["email", { title: "Ihre E-Mail-Adresse sehen", detail: "Die Adresse, und ob sie bestätigt ist." }],
      [
        "offline_access",
        { title: "Zugriff behalten, während Sie fort sind", detail: "Verbunden bleiben, bis Sie den Zugriff zurücknehmen." },
      ],
      ["clients:manage", { title: "Ihre Anwendungen verwalten", detail: "Anwendungen, die Sie entwickeln, anlegen, ändern und löschen." }],
      ["agent:readonly", { title: "Einen KI-Agenten für Sie lesen lassen", detail: "Ein Agent darf nachsehen, aber nichts ändern." }],
      [
        "agent:admin",
        { title: "Einen KI-Agenten für Sie ändern lassen", detail: "Ein Agent darf in Ihrem Namen Einstellungen und Daten ändern." },
      ],
      ["agent:exec", { title: "Einen KI-Agenten für Sie handeln lassen", detail: "Ein Agent darf in Ihrem Namen Handlungen ausführen." }],
    ]),
    ownPermission: "Eine Berechtigung der Anwendung selbst.",
    permissionAt: (places) => `Eine Berechtigung bei ${places}.`,
  },
};
