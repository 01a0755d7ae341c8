import type { Catalogue } from "../../texts/language.ts";

export interface ConsentTexts {
  readonly title: (name: string) => string;
  /** After the name of the application. */
  readonly asks: string;
  readonly asksMore: string;
  /** Nothing of it is new. */
  readonly asksAgain: string;
  readonly signedInAs: string;
  readonly otherAccount: string;
  readonly able: string;
  readonly ableAlso: string;
  readonly known: string;
  readonly places: string;
  readonly howLong: string;
  /** Of a client that gets no refresh token. */
  readonly eachTime: (access: string) => string;
  /** Of a client that may go on by itself: at most so long, and so long when it is not used. */
  readonly lasting: (most: string, idle: string) => string;
  readonly isNew: string;
  /** Of an agent among the places. */
  readonly mayAct: string;
  readonly mayUse: string;
  readonly deny: string;
  readonly allow: string;
  /** Before the link to the account page, which ends the sentence. */
  readonly takeBack: string;
  readonly accountPage: string;
}

export const consentTexts: Catalogue<ConsentTexts> = {
  en: {
    title: (name) => `Allow ${name}?`,
    asks: "asks for access",
    asksMore: "asks for more access",
    asksAgain: "asks for access again",
    signedInAs: "You are signed in as",
    otherAccount: "Use another account",
    able: "It would be able to",
    ableAlso: "It would also be able to",
    known: "You allowed it before to",
    places: "Only at these places",
    howLong: "For how long",
    eachTime: (access) => `For ${access} each time that you come from there.`,
    lasting: (most, idle) =>
      `Also while you are away, until you take it back, but for ${most} at most. It ends by itself when it is not used for ${idle}.`,
    isNew: "New",
    mayAct: "May act in your name, within what you allow here. It may ask other agents only if they are listed here too.",
    mayUse: "May be shown what you allow here.",
    deny: "Deny",
    allow: "Allow",
    takeBack: "You can take this back at any time on",
    accountPage: "your account page",
  },
  de: {
    title: (name) => `${name} den Zugriff erlauben?`,
    asks: "bittet um Zugriff",
    asksMore: "bittet um weiteren Zugriff",
    asksAgain: "bittet erneut um Zugriff",
    signedInAs: "Sie sind angemeldet als",
    otherAccount: "Anderes Konto verwenden",
    able: "Das würden Sie erlauben",
    ableAlso: "Das käme hinzu",
    known: "Das haben Sie schon erlaubt",
    places: "Nur an diesen Stellen",
    howLong: "Wie lange",
    eachTime: (access) => `Jeweils für ${access}, wenn Sie von dort kommen.`,
    lasting: (most, idle) =>
      `Auch wenn Sie nicht da sind, bis Sie es zurücknehmen, aber höchstens ${most}. Wird es ${idle} lang nicht genutzt, endet es von selbst.`,
    isNew: "Neu",
    mayAct:
      "Darf in Ihrem Namen handeln, im Rahmen dessen, was Sie hier erlauben. Andere Agenten darf er nur bitten, wenn sie auch hier stehen.",
    mayUse: "Darf gezeigt bekommen, was Sie hier erlauben.",
    deny: "Ablehnen",
    allow: "Erlauben",
    takeBack: "Zurücknehmen können Sie das jederzeit auf",
    accountPage: "Ihrer Kontoseite",
  },
};
