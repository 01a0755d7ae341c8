import { createHmac, hkdfSync } from "node:crypto";
import type { RefreshTokenGrant } from "../../gen/countersign/token/v1/token_pb.ts";
import type { SigningKey } from "./keys.ts";

export type SuccessorInput = Pick<RefreshTokenGrant, "refreshToken" | "scope" | "resource">;

/**
 * A function from a refresh request to the next token: the same in every core that has the signing key, and unpredictable to anyone else.
 * Requests for another scope or resource have another successor, so that only a repeated request finds its successor current.
 * @returns 64 hexadecimal characters
 */
export function successorOf(key: SigningKey): (request: SuccessorInput) => string {
  const known = made.get(key) ?? successorWith(key);
  made.set(key, known);
  return known;
}

const made = new WeakMap<SigningKey, (request: SuccessorInput) => string>();

function successorWith(key: SigningKey): (request: SuccessorInput) => string {
  const secret = derivedSecret(key, "refresh token successor");
  const sorted = (values: readonly string[]): readonly string[] => [...new Set(values)].sort();
  return ({ refreshToken, scope, resource }) => {
    const request = JSON.stringify([refreshToken, scope === undefined ? null : sorted(scope.split(" ")), sorted(resource)]);
    return createHmac("sha256", secret).update(request).digest("hex");
  };
}

/** A secret of 32 bytes for one purpose: the same in every core that has the signing key, and unpredictable to anyone else. */
export function derivedSecret(key: SigningKey, purpose: string): Buffer {
  const seed = key.privateKey.export({ type: "pkcs8", format: "der" });
  return Buffer.from(hkdfSync("sha256", seed, "", `countersign ${purpose}`, 32));
}
