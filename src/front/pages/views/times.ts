import { type Language, shownDay, shownMoment } from "../../texts/language.ts";
import { html, type Markup } from "../html.ts";

const time = (seconds: number, shown: string): Markup => html`<time datetime="${new Date(seconds * 1000).toISOString()}">${shown}</time>`;

/** A day in UTC. @param seconds since the epoch */
export const day = (language: Language, seconds: number): Markup => time(seconds, shownDay(language, seconds));

/** A day and the time of it, in UTC. @param seconds since the epoch */
export const moment = (language: Language, seconds: number): Markup => time(seconds, shownMoment(language, seconds));
