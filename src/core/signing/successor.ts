import { createHmac, hkdfSync } from "node:crypto";
import type { SigningKey } from "./keys.ts";

/**
 * A function from a refresh token to the one that follows it: the same in every core that holds the signing key, and to be guessed by nobody else.
 * @returns 64 hexadecimal characters
 */
export function successorOf(key: SigningKey): (refreshToken: string) => string {
  const seed = key.privateKey.export({ type: "pkcs8", format: "der" });
  const secret = Buffer.from(hkdfSync("sha256", seed, "", "countersign refresh token successor", 32));
  return (refreshToken) => createHmac("sha256", secret).update(refreshToken).digest("hex");
}
