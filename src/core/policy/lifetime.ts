/**
 * Seconds that a token lives which stands for another: never longer than that one still has.
 * @param configured seconds  @param endsAt seconds since the epoch  @param now seconds since the epoch
 * @see specification §4.7 rule 5
 */
export const tokenLifetime = (configured: number, endsAt: number, now: number): number => Math.min(configured, endsAt - now);
