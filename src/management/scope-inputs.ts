import { z } from "zod";
import { isScopeToken } from "../protocol/access.ts";
import { LANGUAGES } from "../texts/languages.ts";

/** Line breaks, other control characters, and characters that reorder or hide the text around them. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;

/** One visible line. */
export const line = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => text.isWellFormed() && !HIDDEN.test(text), "must not contain control, bidirectional or invisible characters");

/** A text in each language; languages may be left out. */
export const wording = (max: number) => z.partialRecord(z.enum(LANGUAGES), line(max));

export const ScopeName = z.string().max(256).refine(isScopeToken, "is no scope token (RFC 6749 §3.3)");

/** What a scope allows, as the consent page shows it. */
export const ScopeDescriptionInput = z.strictObject({
  name: ScopeName,
  title: wording(80).refine((title) => Object.values(title).some((text) => text !== undefined), "needs words in at least one language"),
  detail: wording(300).default({}),
});
