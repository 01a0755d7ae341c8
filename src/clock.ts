/** Whole seconds since the epoch. */
export type Clock = () => number;

export const systemClock: Clock = () => Math.floor(Date.now() / 1000);

/**
 * What is done about a clock of this process that differs from the database's: `corrected`, times in claims are the database's;
 * `uncertain`, nothing is issued because the database's time is not known well enough.
 */
export type ClockState = "corrected" | "uncertain";

/** Milliseconds since the epoch, for gRPC deadlines and identifiers only. */
export const epochMillis = Date.now;

/** Seconds with their fraction as whole milliseconds. */
export const milliseconds = (seconds: number): number => Math.round(seconds * 1000);
