import { describe, expect, test } from "vitest";
import { LANGUAGES, TEXTS } from "../../../src/texts/languages.ts";

type Entry = readonly [path: string, text: string];

/** Every text with its path. Functions are called with placeholders, which stand in their result. */
function entriesOf(value: unknown, path: string): readonly Entry[] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value === "function") return entriesOf(value(...Array.from({ length: value.length }, (_, index) => `{${index}}`)), path);
  return Object.entries(value as object).flatMap(([name, member]) => entriesOf(member, `${path}.${name}`));
}

const placeholders = (text: string): readonly string[] => [...new Set(text.match(/\{\d\}/g))].sort();

const english = entriesOf(TEXTS.en, "");

describe.for(LANGUAGES)("texts in %s", (language) => {
  const entries = entriesOf(TEXTS[language], "");

  test("have the members of the English texts", () => {
    expect(entries.map(([path]) => path).sort()).toEqual(english.map(([path]) => path).sort());
  });

  test("have the placeholders of the English texts", () => {
    const expected = new Map(english.map(([path, text]) => [path, placeholders(text)]));
    expect(entries.filter(([path, text]) => String(placeholders(text)) !== String(expected.get(path)))).toEqual([]);
  });

  test("are not empty, and have no space around them", () => {
    expect(entries.filter(([, text]) => text === "" || text !== text.trim())).toEqual([]);
  });

  test("have a place to break every word of a page, or of a button in a mail, that a phone has no room for", () => {
    const isWide = (path: string) => !path.startsWith(".mails.") || path.endsWith(".action");
    const long = entries.filter(([path, text]) => isWide(path) && /\p{L}{22}/u.test(text));
    expect(long).toEqual([]);
  });

  test("name a tag that formats dates", () => {
    expect(Intl.DateTimeFormat.supportedLocalesOf(TEXTS[language].tag)).toEqual([TEXTS[language].tag]);
    expect(new Intl.Locale(TEXTS[language].tag).language).toBe(language);
  });
});
