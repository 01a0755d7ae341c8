/** A process that does nothing but sign by ML-DSA-65, as the product does it: as many at a time, in the same threads. */
import { randomBytes } from "node:crypto";
import { openMldsaKey } from "../src/core/signing/ml-dsa.ts";
import { IN_FLIGHT } from "./scenario.ts";

/** What came of a round. */
export interface SignatureRound {
  /** Signatures a second. */
  readonly rate: number;
  /** Microseconds of CPU for one, all threads. */
  readonly cpu: number;
}

/** As long as the signing input of an access token. */
const INPUT = "x".repeat(480);
const key = await openMldsaKey(randomBytes(32));

async function round(seconds: number): Promise<SignatureRound> {
  const before = process.cpuUsage();
  const begun = performance.now();
  let signed = 0;
  const work = async (): Promise<void> => {
    while (performance.now() - begun < seconds * 1000) {
      await key.sign(INPUT);
      signed += 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  const { user, system } = process.cpuUsage(before);
  return { rate: (signed * 1000) / (performance.now() - begun), cpu: (user + system) / signed };
}

process.on("message", async (order: { readonly seconds: number }) => process.send?.(await round(order.seconds)));
process.send?.({ ready: true });
