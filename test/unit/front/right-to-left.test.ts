import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { html, printPage, siteOf } from "../../../src/front/pages/views/layout.ts";
import { directionOf, type Language, TEXTS } from "../../../src/texts/languages.ts";
import { aBrandings } from "../../support/builders.ts";

/** A language that exists in this test alone: English texts, written from right to left. */
const PSEUDO = "ar" as Language;
Object.assign(TEXTS, { [PSEUDO]: { ...TEXTS.en, tag: "ar-EG", name: "العربية" } });

const site = siteOf("https://id.example.test", aBrandings());

test("a page in a language that is written from right to left says so", () => {
  const page = (language: Language) =>
    printPage(
      { site, language, texts: TEXTS[language] },
      { title: "Title", content: html`<p>text</p>` },
      { sameInLanguage: "/login?next=x&lang=" },
    );
  expect(page(PSEUDO)).toContain('<html lang="ar" dir="rtl">');
  expect(page("de")).toContain('<html lang="de">');
  expect(page("de")).toContain('<a href="/login?next=x&amp;lang=en" lang="en" hreflang="en">English</a>');
});

test.for([
  ["ur", "rtl"],
  ["fa-IR", "rtl"],
  ["en-GB", "ltr"],
  ["ja", "ltr"],
] as const)("%s is written %s", ([tag, direction]) => {
  expect(directionOf(tag)).toBe(direction);
});

/** Properties and values that name a side, which is another one from right to left; four values of a shorthand set both sides. */
const PHYSICAL =
  /\b(?:margin|padding|border|inset)-(?:left|right)\b|^\s*(?:left|right)\s*:|(?:text-align|float|clear)\s*:\s*(?:left|right)\b|border-(?:top|bottom)-(?:left|right)-radius|\b(?:margin|padding|inset|border-radius|border-width)\s*:\s*[^;\s]+(?:\s+[^;\s]+){3};/m;

const styles = join(import.meta.dirname, "../../../src/front/pages/assets/style");

test.for(readdirSync(styles))("%s uses logical properties alone", (file) => {
  const withoutArguments = readFileSync(join(styles, file), "utf8").replace(/\([^()]*\)/g, "()");
  expect(PHYSICAL.exec(withoutArguments)?.[0]).toBeUndefined();
});
