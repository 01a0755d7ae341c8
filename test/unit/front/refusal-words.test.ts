import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { reasonWords, refusalFaults } from "../../../src/front/pages/errors.ts";

const forPrograms = { description: "resource must be an absolute URI." };

describe("a refusal on a page", () => {
  test.for([
    ["en", "password_short", "Choose a password of at least 8 characters."],
    ["de", "password_short", "Wählen Sie ein Passwort mit mindestens 8 Zeichen."],
    ["en", "unknown_reason", undefined],
    ["de", "unknown_reason", undefined],
    ["de", "constructor", undefined],
  ] as const)("in %s, %s is described by its reason", ([language, reason, words]) => {
    expect(reasonWords(language, new Refusal("invalid_request", reason, forPrograms))).toBe(words);
  });

  test.for([
    ["en", 841, "Too many failed attempts. Try again in 15 minutes."],
    ["de", 60, "Zu viele Fehlversuche. Versuchen Sie es in 1 Minute noch einmal."],
  ] as const)("in %s, a limit says how long it lasts: %s seconds", ([language, retryAfter, words]) => {
    expect(reasonWords(language, new Refusal("too_many_requests", "sign_in_failures", { retryAfter }))).toBe(words);
  });

  test("all failed sign-ins have the same text", () => {
    for (const language of ["en", "de"] as const) {
      const words = ["account_unknown", "account_disabled", "password_wrong"].map((reason) =>
        reasonWords(language, new Refusal("unauthenticated", reason)),
      );
      expect([new Set(words).size, typeof words[0]]).toEqual([1, "string"]);
    }
  });
});

describe("errors of a form", () => {
  const issues = [
    { path: "email", message: "Bad." },
    { path: "colour", message: "Odd." },
  ];
  test.for([
    ["body_shape", "en", ["Enter an e-mail address, such as name@example.com.", "This value is not valid."]],
    ["body_shape", "de", ["Geben Sie eine E-Mail-Adresse ein, zum Beispiel name@example.com.", "Diese Angabe stimmt so nicht."]],
    ["email_taken", "de", ["Zu dieser E-Mail-Adresse gibt es schon ein Konto.", "Zu dieser E-Mail-Adresse gibt es schon ein Konto."]],
    ["unknown_reason", "en", ["This value is not valid.", "This value is not valid."]],
    ["unknown_reason", "de", ["Diese Angabe stimmt so nicht.", "Diese Angabe stimmt so nicht."]],
  ] as const)("%s in %s are assigned to the fields of the form", ([reason, language, messages]) => {
    const faults = refusalFaults(language, new Refusal("invalid_request", reason, { issues }), ["email"]);
    expect(faults).toEqual([
      { field: "email", message: messages[0] },
      { field: undefined, message: messages[1] },
    ]);
  });

  test.for([
    ["en", "This did not work. Check what you entered and try again."],
    ["de", "Das hat nicht geklappt. Bitte prüfen Sie Ihre Angaben und versuchen Sie es noch einmal."],
  ] as const)("in %s, a reason without a text has a general sentence", ([language, message]) => {
    expect(refusalFaults(language, new Refusal("invalid_request", "unknown_reason"), [])).toEqual([{ message }]);
  });
});
