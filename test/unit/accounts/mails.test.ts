import { describe, expect, test } from "vitest";
import { mailOf } from "../../../src/accounts/mails.ts";
import { LANGUAGES } from "../../../src/texts/languages.ts";
import { aBrandings } from "../../support/builders.ts";

const ISSUER = "https://id.example.test/auth";
const PORTS = { issuer: ISSUER, brandings: aBrandings() };
const USER = { realmId: undefined };
const EN = { language: "en" } as const;
const TOKEN = "a1".repeat(32);

describe.for(LANGUAGES)("mails in %s", (language) => {
  const letters = {
    verification: [mailOf("verification", PORTS, USER, { language, token: TOKEN }, 24), `${ISSUER}/auth/verify?token=${TOKEN}`],
    reset: [mailOf("reset", PORTS, USER, { language, token: TOKEN }, 30), `${ISSUER}/reset?token=${TOKEN}`],
    changed: [mailOf("passwordChanged", PORTS, USER, { language }), `${ISSUER}/forgot`],
    closed: [mailOf("accountClosed", PORTS, USER, { language }), undefined],
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

test.for([
  ["passkey", mailOf("passkeyAdded", PORTS, USER, EN)],
  ["passkey", mailOf("passkeyRemoved", PORTS, USER, EN)],
  ["Two-step sign-in", mailOf("secondFactorAdded", PORTS, USER, EN)],
  ["Two-step sign-in", mailOf("secondFactorRemoved", PORTS, USER, EN)],
] as const)("a notice names the %s in its first sentence too, which stands without the subject", ([what, { text }]) => {
  expect(text.split("\n\n")[1]).toContain(what);
});

test.for(LANGUAGES)("the notice of an app in %s leads a user who did not set it up to what works without its code", (language) => {
  const { text } = mailOf("secondFactorAdded", PORTS, USER, { language });
  expect(text).toContain(`${ISSUER}/forgot\n`);
  expect(text.split("/forgot")[1]).toContain("id.example.test");
});

test("mails name a provider without an article, which would depend on its name", () => {
  for (const kind of ["identityLinked", "identityUnlinked"] as const)
    expect(mailOf(kind, PORTS, USER, EN, "Acme").text).toMatch(/An account at Acme was just (?:dis)?connected/);
});

test("a mail without words after its link ends there", () => {
  expect(mailOf("passkeyAdded", PORTS, USER, EN).text).toMatch(/\/account\/security\n$/);
});

test.for(LANGUAGES)("a mail in %s has a title, fits a phone, previews its first sentence, and has colours for the dark", (language) => {
  const { subject, text, html } = mailOf("reset", PORTS, USER, { language, token: TOKEN }, 30);
  const [, sentence = ""] = text.split("\n\n");
  expect(html).toContain(`<title>${subject}</title>`);
  expect(html).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
  expect(html).toContain('<meta name="color-scheme" content="light dark">');
  expect(html).toContain("@media (prefers-color-scheme: dark)");
  const shown = html.slice(html.indexOf("<body")).replace(/<[^>]+>/g, " ");
  expect(shown.trim().startsWith(sentence)).toBe(true);
});

test("the greeting of a German mail is a sentence, as a comma would demand a small letter after it", () => {
  expect(mailOf("reset", PORTS, USER, { language: "de", token: TOKEN }, 30).text).toMatch(/^[^\n]*[!.]\n\n[A-ZÄÖÜ]/);
});

test("mails differ between languages", () => {
  const [en, de] = LANGUAGES.map((language) => mailOf("passwordChanged", PORTS, USER, { language }));
  expect(en?.subject).not.toBe(de?.subject);
});

test.for(LANGUAGES)("a branded mail in %s has the colour, the name and where to ask", (language) => {
  const branding = { name: "Acme <ID>", accent: "#b3005e", support: "help@acme.test", termsUrl: "https://acme.test/terms" };
  const { text, html } = mailOf("reset", { issuer: ISSUER, brandings: aBrandings(branding) }, USER, { language, token: TOKEN }, 30);
  for (const part of ["Acme <ID>", "help@acme.test", "https://acme.test/terms"]) expect(text).toContain(part);
  expect(html).toContain("background:#b3005e");
  expect(html).not.toContain("<ID>");
});
