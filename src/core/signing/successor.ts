import { createHmac, hkdfSync } from "node:crypto";
import type { SigningKey } from "./keys.ts";

/** What a refresh asks for: the token, and what its answer is to be narrowed to. */
export interface SuccessorInput {
  readonly refreshToken: string;
  readonly scope?: string | undefined;
  readonly resource: readonly string[];
}

/**
 * A function from a refresh to the token that follows it: the same in every core that holds the signing key, and to be guessed by nobody
 * else. Another wish has another successor, so that only the same request come twice finds its successor current. Order says nothing in a
 * wish.
 * @returns 64 hexadecimal characters
 */
export function successorOf(key: SigningKey): (wish: SuccessorInput) => string {
  const known = made.get(key) ?? successorWith(key);
  made.set(key, known);
  return known;
}

const made = new WeakMap<SigningKey, (wish: SuccessorInput) => string>();

function successorWith(key: SigningKey): (wish: SuccessorInput) => string {
  const secret = derivedSecret(key, "refresh token successor");
  const sorted = (values: readonly string[]): readonly string[] => [...new Set(values)].sort();
  return ({ refreshToken, scope, resource }) => {
    const wish = JSON.stringify([refreshToken, scope === undefined ? null : sorted(scope.split(" ")), sorted(resource)]);
    return createHmac("sha256", secret).update(wish).digest("hex");
  };
}

/** A secret for one purpose: the same in every core that holds the signing key, and to be guessed by nobody else. 32 bytes. */
export function derivedSecret(key: SigningKey, purpose: string): Buffer {
  const seed = key.privateKey.export({ type: "pkcs8", format: "der" });
  return Buffer.from(hkdfSync("sha256", seed, "", `countersign ${purpose}`, 32));
}
