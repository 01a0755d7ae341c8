/**
 * Seconds that a token lives which stands for another: never longer than that one still has.
 * @param configured seconds  @param endsAt seconds since the epoch  @param now seconds since the epoch
 * @see docs/protocol.md#lifetimes
 */
export const tokenLifetime = (configured: number, endsAt: number, now: number): number => Math.min(configured, endsAt - now);
