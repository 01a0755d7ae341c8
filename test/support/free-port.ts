import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Ports below those that systems give to connections and to processes that ask for any port (IANA: 49152 up, Linux: 32768 up), a range of its own for
 * each worker of the test run: what was found free is not taken by a neighbour before its owner listens.
 */
const WORKERS = 16;
const RANGE = 1_200;
const first = 10_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS) * RANGE;
let next = randomInt(RANGE);

const isFree = async (port: number): Promise<boolean> => {
  const probe = createServer();
  try {
    probe.listen(port, "127.0.0.1");
    await once(probe, "listening");
    probe.close();
    await once(probe, "close");
    return true;
  } catch {
    return false;
  }
};

/** A port of 127.0.0.1 on which no one listens, and which no later call of this worker gives again. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < RANGE; tries += 1) {
    const port = first + (next++ % RANGE);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${first} to ${first + RANGE - 1} is free`);
}
