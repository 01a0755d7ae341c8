/** Letters and controls that are written from right to left, or that change the direction of what follows. */
const DIRECTIONAL = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;
const ISOLATES = /[\u2066-\u2069]/g;

/** A text that leaves the order of the sentence around it alone (Unicode Standard Annex #9). Pure. */
const isolated = (text: unknown): unknown =>
  typeof text === "string" && DIRECTIONAL.test(text) ? `\u2068${text.replaceAll(ISOLATES, "")}\u2069` : text;

/** The same texts, whose sentences isolate the names that they are given. Pure. */
export function isolating<Texts>(texts: Texts): Texts {
  if (typeof texts === "function") return ((...given: unknown[]) => texts(...given.map(isolated))) as Texts;
  if (typeof texts !== "object" || texts === null || Array.isArray(texts)) return texts;
  return Object.fromEntries(Object.entries(texts).map(([name, member]) => [name, isolating(member)])) as Texts;
}
