import type { Refusal } from "../../errors.ts";
import type { Language } from "../texts/language.ts";
import { refusalsTexts } from "../texts/refusals.ts";
import type { Fault } from "./views/layout.ts";

/** The words of a table for a key that may not be in it. */
const wordsFor = (table: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** The sentence for a refusal's reason, else the description that came with it, which is English. @returns undefined when there is neither */
export const reasonWords = (language: Language, { reason, detail }: Refusal): string | undefined =>
  wordsFor(refusalsTexts[language].reasons, reason) ?? (language === "en" ? detail.description : undefined);

/** What is wrong with a form, each fault at its field where the form has that field. Pure. */
export function refusalFaults(language: Language, refusal: Refusal, fields: readonly string[]): readonly Fault[] {
  const { reasons, otherReason, fields: fieldTexts, otherField } = refusalsTexts[language];
  const sentence = wordsFor(reasons, refusal.reason);
  const inWords = (path: string, message: string) =>
    (refusal.reason === "body_shape" ? wordsFor(fieldTexts, path) : sentence) ?? (language === "en" ? message : otherField);
  const faults = refusal.detail.issues?.map(({ path, message }) => ({
    field: fields.includes(path) ? path : undefined,
    message: inWords(path, message),
  }));
  return faults ?? [{ message: reasonWords(language, refusal) ?? otherReason }];
}
