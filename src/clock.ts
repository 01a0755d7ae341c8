/** Whole seconds since the epoch. */
export type Clock = () => number;

export const systemClock: Clock = () => Math.floor(Date.now() / 1000);

/** Milliseconds since the epoch, for gRPC deadlines and identifiers only. */
export const epochMillis = (): number => Date.now();

/** Seconds with their fraction as whole milliseconds. */
export const milliseconds = (seconds: number): number => Math.round(seconds * 1000);
