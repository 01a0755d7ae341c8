import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Ports below those that operating systems assign to any caller (IANA: 49152 up, Linux: 32768 up), in a range of its own for each worker
 * of the test run, so that no neighbour takes a free port before its owner listens. They begin above 10080, the last port that fetch and
 * browsers refuse (Fetch §2.9, "bad port").
 */
const WORKERS = 16;
const RANGE = 1_200;
const first = 10_100 + (Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS) * RANGE;
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

/** A port of 127.0.0.1 that is not in use and that no later call of this worker returns. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < RANGE; tries += 1) {
    const port = first + (next++ % RANGE);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${first} to ${first + RANGE - 1} is free`);
}
