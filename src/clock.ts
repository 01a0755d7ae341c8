/** Whole seconds since the epoch. */
export type Clock = () => number;

/** Cryptographically strong random bytes. */
export type RandomBytes = (length: number) => Uint8Array;

export const systemClock: Clock = () => Math.floor(Date.now() / 1000);

/** Milliseconds since the epoch: gRPC states deadlines so. For nothing that is stored or signed. */
export const epochMillis = (): number => Date.now();
