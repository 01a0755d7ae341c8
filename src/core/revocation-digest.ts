import { hash } from "node:crypto";
import type { RevocationEvent } from "./revocation-events.ts";

/** Bytes of a digest: enough that nobody finds a second text for one, in a stream that goes to many. */
const LENGTH = 16;

/** A grant is named as the `jti` of its tokens name it. */
const packed = (uuid: string): string => Buffer.from(uuid.replaceAll("-", ""), "hex").toString("base64url");

/**
 * What a mark is about, told only to those who hold a token of it: whoever watches revocations learns no id of people, clients or tokens.
 * The texts are part of the contract (RevocationEvent in the proto).
 */
export function revocationDigest({ kind, key }: Pick<RevocationEvent, "kind" | "key">): Uint8Array {
  const name = kind === "grant" ? packed(key) : key;
  return hash("sha256", `${kind}:${name}`, "buffer").subarray(0, LENGTH);
}
