/** Whole seconds since the epoch. */
export type Clock = () => number;

/** Cryptographically strong random bytes. */
export type RandomBytes = (length: number) => Uint8Array;

export const systemClock: Clock = () => Math.floor(Date.now() / 1000);

/** Milliseconds since the epoch, for gRPC deadlines and identifiers only. */
export const epochMillis = (): number => Date.now();

/** Seconds with their fraction as whole milliseconds. */
export const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

/** Bytes that are fetched at once: a call costs more than the bytes do. */
const POOL = 4096;

/** Random bytes out of a pool that is refilled when it runs out. Bytes that were handed out are wiped from it. */
export function pooled(source: RandomBytes): RandomBytes {
  let pool: Uint8Array = new Uint8Array(0);
  let at = 0;
  return (length) => {
    if (length > POOL / 16) return source(length);
    if (pool.length - at < length) {
      pool = source(POOL);
      at = 0;
    }
    const taken = new Uint8Array(pool.subarray(at, at + length)); // a copy; slice() of a Buffer would be none
    pool.fill(0, at, at + length);
    at += length;
    return taken;
  };
}
