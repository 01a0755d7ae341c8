/** Whole seconds since the epoch. */
export type Clock = () => number;

export const systemClock: Clock = () => Math.floor(Date.now() / 1000);

/** Seconds that the clock may step back by itself: it follows the answers of the database, and some take longer than others. */
const STEP = 2;

/** Seconds since a moment. One that is ahead, for the clock was set back, is long ago: what is known since then is renewed, not kept for as long as that. */
export const secondsSince = (clock: Clock, moment: number): number => {
  const seconds = clock() - moment;
  return seconds < -STEP ? Number.POSITIVE_INFINITY : Math.max(0, seconds);
};

/**
 * What is done about a clock of this process that differs from the database's: `corrected`, times in claims are the database's;
 * `uncertain`, nothing is issued because the database's time is not known well enough.
 */
export type ClockState = "corrected" | "uncertain";

/** Milliseconds since the epoch, for gRPC deadlines and identifiers only. */
export const epochMillis = Date.now;

/** Seconds with their fraction as whole milliseconds. */
export const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

export const millisecondsOrNull = (seconds: number | null): number | null => (seconds === null ? null : milliseconds(seconds));

/** The answer belongs to its caller, who may change it. */
type Plain<Thing> = { -readonly [Member in keyof Thing]: Thing[Member] };

/** A record with these of its members, which are seconds or null, as milliseconds. They come last. */
export const inMilliseconds = <Thing extends Readonly<Record<Time, number | null>>, Time extends string>(
  thing: Thing,
  ...times: readonly Time[]
): Plain<Thing> => {
  const others = Object.entries(thing).filter(([member]) => !times.some((time) => time === member));
  const shown = times.map((time) => [time, millisecondsOrNull(thing[time])]);
  return Object.fromEntries([...others, ...shown]) as Plain<Thing>;
};
