import type { Catalogue } from "./language.ts";

/** What stands on every page, or in every form. */
export interface FrameTexts {
  /** Before the host, at the foot. */
  readonly youAreAt: string;
  readonly optional: string;
  readonly problem: string;
  /** The title of a page whose form has faults. */
  readonly faultyTitle: (title: string) => string;
}

export const frameTexts: Catalogue<FrameTexts> = {
  en: {
    youAreAt: "You are at",
    optional: "(optional)",
    problem: "There is a problem",
    faultyTitle: (title) => `Error: ${title}`,
  },
  de: {
    youAreAt: "Sie sind bei",
    optional: "(freiwillig)",
    problem: "Das hat noch nicht geklappt",
    faultyTitle: (title) => `Fehler: ${title}`,
  },
};
