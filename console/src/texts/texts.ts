import { LANGUAGE } from "../environment.ts";
import { en, type Texts } from "./en.ts";
import { isolating } from "./isolated.ts";

/** The texts of the language in which the server sent the page. */
export const T: Texts = isolating(LANGUAGE === "de" ? (await import("./de.ts")).de : en);

const TAG = LANGUAGE === "de" ? "de-DE" : "en-GB";
const NUMBER = new Intl.NumberFormat(TAG);
const MOMENT = new Intl.DateTimeFormat(TAG, { dateStyle: "medium", timeStyle: "short" });
const TIME = new Intl.DateTimeFormat(TAG, { timeStyle: "medium" });
const TIME_OF_DAY = new Intl.DateTimeFormat(TAG, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
const HOUR = new Intl.DateTimeFormat(TAG, { hour: "2-digit", minute: "2-digit" });
const RELATIVE = new Intl.RelativeTimeFormat(TAG, { numeric: "auto" });

export const shownNumber = (value: number): string => NUMBER.format(value);
/** @param at milliseconds since the epoch */
export const shownMoment = (at: number): string => MOMENT.format(at);
/** To the second, and with the day unless it is today. @param at milliseconds since the epoch */
export const shownTime = (at: number, now = new Date()): string =>
  (new Date(at).toDateString() === now.toDateString() ? TIME : TIME_OF_DAY).format(at);
export const shownHour = (at: number): string => HOUR.format(at);

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** "3 hours ago". @param at milliseconds since the epoch */
export function shownAgo(at: number, now = Date.now()): string {
  const past = at - now;
  const [unit, size] = UNITS.find(([, milliseconds]) => Math.abs(past) >= milliseconds) ?? ["second", 1000];
  return RELATIVE.format(Math.round(past / size), unit);
}
