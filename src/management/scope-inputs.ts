import { z } from "zod";
import type { Language } from "../language.ts";
import { isScopeToken } from "../protocol/scope.ts";

/** Line breaks, other controls, and whatever turns or hides the text around it. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;

/** One line that shows, and shows as what it is. */
const line = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => text.isWellFormed() && !HIDDEN.test(text), "must not contain control, bidirectional or invisible characters");

/** The same in every language; a language may be left out. */
const wording = (max: number) =>
  z.strictObject({ en: line(max).optional(), de: line(max).optional() } satisfies Readonly<Record<Language, z.ZodType>>);

export const ScopeName = z.string().max(256).refine(isScopeToken, "is no scope token (RFC 6749 §3.3)");

/** What a scope allows, in words for the consent page. */
export const ScopeDescriptionInput = z.strictObject({
  name: ScopeName,
  title: wording(80).refine((title) => Object.values(title).some((text) => text !== undefined), "needs words in at least one language"),
  detail: wording(300).default({}),
});
