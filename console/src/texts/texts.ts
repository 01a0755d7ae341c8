import { now } from "../api/clock.ts";
import { LANGUAGE } from "../environment.ts";
import { de } from "./de.ts";
import { daysBetween, distanceOf } from "./distance.ts";
import { en, type Texts } from "./en.ts";
import { isolating } from "./isolated.ts";

/** The texts of the language in which the server sent the page. */
export const T: Texts = isolating(LANGUAGE === "de" ? de : en);

const TAG = LANGUAGE === "de" ? "de-DE" : "en-GB";
const NUMBER = new Intl.NumberFormat(TAG);
const MOMENT = new Intl.DateTimeFormat(TAG, { dateStyle: "medium", timeStyle: "short" });
const TIME = new Intl.DateTimeFormat(TAG, { timeStyle: "medium" });
const TIME_OF_DAY = new Intl.DateTimeFormat(TAG, { dateStyle: "medium", timeStyle: "medium" });
const HOUR = new Intl.DateTimeFormat(TAG, { hour: "2-digit", minute: "2-digit" });
const RELATIVE = new Intl.RelativeTimeFormat(TAG, { numeric: "auto" });

export const shownNumber = (value: number): string => NUMBER.format(value);
/** @param at milliseconds since the epoch */
export const shownMoment = (at: number): string => MOMENT.format(at);
/** To the second, and with the day unless it is today. @param at milliseconds since the epoch */
export const shownTime = (at: number): string => (daysBetween(now(), at) === 0 ? TIME : TIME_OF_DAY).format(at);
export const shownHour = (at: number): string => HOUR.format(at);

/** "in 30 seconds"; of minutes, no fewer than it takes. */
export const shownWait = (seconds: number): string =>
  seconds < 60 ? RELATIVE.format(seconds, "second") : RELATIVE.format(Math.ceil(seconds / 60), "minute");

/** "3 hours ago". @param at milliseconds since the epoch */
export const shownAgo = (at: number): string => RELATIVE.format(...distanceOf(at, now()));
