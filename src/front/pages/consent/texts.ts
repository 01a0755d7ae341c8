import { catalogue } from "../../texts/language.ts";

export const consentTexts = catalogue({
  en: {
    title: (name: string) => `Allow ${name}?`,
    /** After the name of the application. */
    asks: "asks for access",
    asksMore: "asks for more access",
    /** Everything was allowed before. */
    asksAgain: "asks for access again",
    signedInAs: "You are signed in as",
    otherAccount: "Use another account",
    able: "This will let it",
    ableAlso: "It now also wants to",
    known: "Already allowed",
    resources: "Works only with",
    howLong: "For how long",
    /** Of a client that gets no refresh token. */
    eachTime: (access: string) => `For ${access} after each sign-in.`,
    /** Of a client that gets refresh tokens: its longest duration, and the time without use after which it ends. */
    lasting: (most: string, idle: string) => `Until you remove it, for up to ${most}. Ends after ${idle} without use.`,
    isNew: "New",
    /** Of an agent among the resources. */
    mayAct: "Can act for you within what you allow here. It can hand tasks only to agents that are listed here too.",
    mayUse: "Can see what you allow here.",
    deny: "Deny",
    allow: "Allow",
    /** Before the link to the account page, which ends the sentence. */
    removable: "You can remove access at any time on",
    accountPage: "your account page",
  },
  de: {
    title: (name) => `${name} den Zugriff erlauben?`,
    asks: "bittet um Zugriff",
    asksMore: "bittet um weiteren Zugriff",
    asksAgain: "bittet erneut um Zugriff",
    signedInAs: "Sie sind angemeldet als",
    otherAccount: "Anderes Konto verwenden",
    able: "Das erlauben Sie damit",
    ableAlso: "Das kommt hinzu",
    known: "Schon erlaubt",
    resources: "Gilt nur bei",
    howLong: "Wie lange",
    eachTime: (access) => `Nach jeder Anmeldung für ${access}.`,
    lasting: (most, idle) => `Bis Sie den Zugriff entfernen, höchstens ${most}. Endet, wenn er ${idle} lang nicht genutzt wird.`,
    isNew: "Neu",
    mayAct:
      "Kann im Rahmen dessen, was Sie hier erlauben, für Sie handeln. Aufgaben kann er nur an Agenten weitergeben, die auch hier stehen.",
    mayUse: "Kann sehen, was Sie hier erlauben.",
    deny: "Ablehnen",
    allow: "Erlauben",
    removable: "Entfernen können Sie den Zugriff jederzeit auf",
    accountPage: "Ihrer Kontoseite",
  },
});

export type ConsentTexts = (typeof consentTexts)["en"];
