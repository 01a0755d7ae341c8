import Negotiator from "negotiator";
import { type Catalogue, catalogue, LANGUAGES, type Language } from "../../language.ts";
import type { FrontContext } from "../http/routes.ts";

export type { Catalogue, Language };
export { catalogue, LANGUAGES };

/** Characters of the header that are read: thousands of languages would take long to parse. */
const MAX_ACCEPTED = 500;

/** The language that the browser prefers, by Accept-Language. @see RFC 9110 §12.5.4 */
export function languageOf({ req }: Pick<FrontContext, "req">): Language {
  const accepted = req.headers["accept-language"]?.slice(0, MAX_ACCEPTED);
  const wanted = new Negotiator({ headers: { "accept-language": accepted } }).language([...LANGUAGES]);
  return LANGUAGES.find((language) => language === wanted) ?? LANGUAGES[0];
}

const DAYS: Catalogue<Intl.DateTimeFormat> = {
  en: new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" }),
  de: new Intl.DateTimeFormat("de-DE", { dateStyle: "long", timeZone: "UTC" }),
};

const MOMENTS: Catalogue<Intl.DateTimeFormat> = {
  en: new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }),
  de: new Intl.DateTimeFormat("de-DE", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }),
};

/** A day in UTC. @param seconds since the epoch */
export const shownDay = (language: Language, seconds: number): string => DAYS[language].format(seconds * 1000);

/** A day and time in UTC. @param seconds since the epoch */
export const shownMoment = (language: Language, seconds: number): string => `${MOMENTS[language].format(seconds * 1000)} UTC`;

/** Seconds in a unit of time, the largest first. */
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** A duration in the largest unit that divides it: "30 days", "15 Minuten". @param seconds whole */
export function shownDuration(language: Language, seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds % length === 0) ?? (seconds < 60 ? (["second", 1] as const) : UNITS[2]);
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(Math.round(seconds / size));
}

const LISTS: Catalogue<Intl.ListFormat> = { en: new Intl.ListFormat("en-GB"), de: new Intl.ListFormat("de") };

/** A list in a sentence: "a, b and c". */
export const shownList = (language: Language, items: readonly string[]): string => LISTS[language].format(items);
