import { de } from "./de.ts";
import { en, type Texts } from "./en.ts";

const languages = { en, de };

export type { Texts };
export type Language = keyof typeof languages;

/** All texts of pages and mails, by language. */
export const TEXTS: Readonly<Record<Language, Texts>> = languages;

/** The languages of pages and mails. */
export const LANGUAGES = Object.keys(languages) as readonly Language[];

/** For users who prefer none of them. */
export const DEFAULT_LANGUAGE: Language = "en";

/** Formatters by language, each made when it is first used. */
function byLanguage<Formatter>(make: (tag: string) => Formatter): (language: Language) => Formatter {
  const made = new Map<Language, Formatter>();
  return (language) => {
    const formatter = made.get(language) ?? make(TEXTS[language].tag);
    made.set(language, formatter);
    return formatter;
  };
}

const days = byLanguage((tag) => new Intl.DateTimeFormat(tag, { dateStyle: "long", timeZone: "UTC" }));

const moments = byLanguage((tag) => new Intl.DateTimeFormat(tag, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }));

const lists = byLanguage((tag) => new Intl.ListFormat(tag));

/** A day in UTC. @param seconds since the epoch */
export const shownDay = (language: Language, seconds: number): string => days(language).format(seconds * 1000);

/** A day and time in UTC. @param seconds since the epoch */
export const shownMoment = (language: Language, seconds: number): string => `${moments(language).format(seconds * 1000)} UTC`;

/** Seconds in a unit of time, the largest first. */
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** A duration in the largest unit that divides it: "30 days", "15 Minuten". @param seconds whole */
export function shownDuration(language: Language, seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds % length === 0) ?? (seconds < 60 ? (["second", 1] as const) : UNITS[2]);
  return new Intl.NumberFormat(TEXTS[language].tag, { style: "unit", unit, unitDisplay: "long" }).format(Math.round(seconds / size));
}

/** A list in a sentence: "a, b and c". */
export const shownList = (language: Language, items: readonly string[]): string => lists(language).format(items);

/** A locale of Node 24; TypeScript does not know the method yet. */
type WithTextInfo = Intl.Locale & { getTextInfo(): { readonly direction?: string } };

/** The direction in which a language is written, by its tag. */
export const directionOf = (tag: string): "ltr" | "rtl" =>
  (new Intl.Locale(tag) as WithTextInfo).getTextInfo().direction === "rtl" ? "rtl" : "ltr";

/** The same for a language of the texts. */
export const directionIn = byLanguage(directionOf);
