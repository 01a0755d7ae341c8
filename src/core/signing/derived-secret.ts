import { hkdfSync } from "node:crypto";
import type { SigningKey } from "./keys.ts";

/** A secret for one purpose: the same in every core that holds the signing key, and to be guessed by nobody else. 32 bytes. */
export function derivedSecret(key: SigningKey, purpose: string): Buffer {
  const seed = key.privateKey.export({ type: "pkcs8", format: "der" });
  return Buffer.from(hkdfSync("sha256", seed, "", `countersign ${purpose}`, 32));
}
