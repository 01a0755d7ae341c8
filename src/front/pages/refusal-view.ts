import type { Refusal } from "../../errors.ts";
import type { Language } from "../texts/language.ts";
import { refusalsTexts } from "../texts/refusals.ts";
import type { Fault } from "./views/layout.ts";

/** The words of a table for a key that may not be in it. */
/** The reason of a refusal for a request that nobody knows, or that is over: often enough all went well, and somebody looks back. */
export const REQUEST_OVER = "pending_unknown";

const wordsFor = (table: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/**
 * The sentence for a refusal's reason. The description that came with it is for programs and their makers, and is no page's text.
 * @returns undefined when there is none
 */
export const reasonWords = (language: Language, { reason }: Pick<Refusal, "reason">): string | undefined =>
  wordsFor(refusalsTexts[language].reasons, reason);

/** What is wrong with a form, each fault at its field where the form has that field. Pure. */
export function refusalFaults(language: Language, refusal: Refusal, fields: readonly string[]): readonly Fault[] {
  const { reasons, otherReason, fields: fieldTexts, otherField } = refusalsTexts[language];
  const sentence = wordsFor(reasons, refusal.reason);
  const faults = refusal.detail.issues?.map(({ path }) => ({
    field: fields.includes(path) ? path : undefined,
    message: (refusal.reason === "body_shape" ? wordsFor(fieldTexts, path) : sentence) ?? otherField,
  }));
  return faults ?? [{ message: reasonWords(language, refusal) ?? otherReason }];
}
