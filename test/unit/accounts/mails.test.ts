import { describe, expect, test } from "vitest";
import { accountClosedMail, passwordChangedMail, resetMail, verificationMail } from "../../../src/accounts/mails.ts";
import { LANGUAGES } from "../../../src/language.ts";

const ISSUER = "https://id.example.test/auth";
const TOKEN = "a1".repeat(32);

describe.for(LANGUAGES)("mails in %s", (language) => {
  const letters = {
    verification: [verificationMail(language, ISSUER, TOKEN, 24), `${ISSUER}/auth/verify?token=${TOKEN}`],
    reset: [resetMail(language, ISSUER, TOKEN, 30), `${ISSUER}/reset?token=${TOKEN}`],
    changed: [passwordChangedMail(language, ISSUER), `${ISSUER}/forgot`],
    closed: [accountClosedMail(language, ISSUER), undefined],
  } as const;

  test.for(Object.entries(letters))(
    "%s: text and HTML have the same content, name the host, and link only to the issuer",
    ([, [{ subject, text, html }, link]]) => {
      expect(subject.length).toBeGreaterThan(5);
      expect(html).toContain(`<html lang="${language}">`);
      const plain = html.replace(/<[^>]+>/g, " ").replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
      for (const sentence of text
        .split("\n")
        .slice(2)
        .filter((line) => line !== ""))
        expect(plain).toContain(sentence);
      expect(text).toContain("id.example.test");
      const links = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address]) => address);
      expect(links).toEqual(link === undefined ? [] : [link]);
      expect(text.match(/https?:\S+/g) ?? []).toEqual(link === undefined ? [] : [link]);
    },
  );
});

test("mails differ between languages", () => {
  const [en, de] = LANGUAGES.map((language) => passwordChangedMail(language, ISSUER));
  expect(en?.subject).not.toBe(de?.subject);
});
