import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { languageOf, requestedLanguage } from "../../../src/front/http/caller.ts";
import { shownDay, shownDuration, shownList, shownMoment } from "../../../src/texts/languages.ts";

const withCookies = (cookie: string, accept = "en") =>
  languageOf({ req: { headers: { "accept-language": accept, cookie } } as unknown as IncomingMessage });

test.for([
  ["countersign-language=de", "de"],
  ["a=b; countersign-language=de; c=d", "de"],
  ["countersign-language=fr", "en"],
  ["countersign-language=fr; countersign-language=de", "de"],
  ["countersign-ui-locales=de", "de"],
  ["countersign-ui-locales=de; countersign-language=en", "en"],
  ["x-countersign-language=de", "en"],
  ["countersign-language=__proto__", "en"],
] as const)("the cookies %s are answered in %s", ([cookies, language]) => {
  expect(withCookies(cookies)).toBe(language);
});

test.for([
  ["de", "de"],
  ["fr-CA de-AT en", "de"],
  ["fr", undefined],
  ["", undefined],
  ["DE-at", "de"],
  ["de;q=0 en", "en"],
  ["*", undefined],
  [`${"fr ".repeat(5000)}de`, undefined],
] as const)("ui_locales %s requests %s", ([uiLocales, language]) => {
  expect(requestedLanguage(uiLocales)).toBe(language);
});

const languageFor = (accept: string | undefined) =>
  languageOf({ req: { headers: { "accept-language": accept } } as unknown as IncomingMessage });

test.for([
  [undefined, "en"],
  ["", "en"],
  ["*", "en"],
  ["de", "de"],
  ["de-AT,de;q=0.9,en;q=0.8", "de"],
  ["en-US,en;q=0.9,de;q=0.8", "en"],
  ["fr,de;q=0.5", "de"],
  ["fr", "en"],
  ["en;q=0, de;q=0.1", "de"],
  ["DE", "de"],
  ["__proto__, constructor;q=0.9", "en"],
  [",;q=,=;;de;q=zz", "en"],
  [`${"xx,".repeat(160)}de`, "de"],
  [`${"xx,".repeat(5000)}de`, "en"],
] as const)("Accept-Language %s is answered in %s", ([accept, language]) => {
  expect(languageFor(accept)).toBe(language);
});

test("days, times and lists are formatted by language", () => {
  const seconds = 1_763_761_800;
  expect([shownDay("en", seconds), shownDay("de", seconds)]).toEqual(["21 November 2025", "21. November 2025"]);
  expect(shownMoment("en", seconds)).toBe("21 November 2025 at 21:50 UTC");
  expect(shownMoment("de", seconds)).toBe("21. November 2025 um 21:50 UTC");
  expect([shownList("en", ["a", "b", "c"]), shownList("de", ["a", "b"])]).toEqual(["a, b and c", "a und b"]);
});

test.for([
  [1, "1 second", "1 Sekunde"],
  [59, "59 seconds", "59 Sekunden"],
  [60, "1 minute", "1 Minute"],
  [900, "15 minutes", "15 Minuten"],
  [5400, "90 minutes", "90 Minuten"],
  [3599, "60 minutes", "60 Minuten"],
  [7200, "2 hours", "2 Stunden"],
  [2_592_000, "30 days", "30 Tage"],
] as const)("%i seconds are %s, %s", ([seconds, en, de]) => {
  expect([shownDuration("en", seconds), shownDuration("de", seconds)]).toEqual([en, de]);
});
