/** HTML text. Only `html` makes it, so that any other text in a page is escaped. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template of HTML; false, null and undefined print nothing. */
export type Part = Markup | string | number | false | null | undefined | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escapeText = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");

function print(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (part === false || part === null || part === undefined) return "";
  if (typeof part === "string") return escapeText(part);
  if (typeof part === "number") return String(part);
  return part.map(print).join("");
}

/** A template of HTML. Every value in it is escaped; attributes must be quoted. */
export const html = (pieces: TemplateStringsArray, ...parts: readonly Part[]): Markup =>
  new Markup(pieces.map((piece, index) => piece + print(parts[index])).join(""));
