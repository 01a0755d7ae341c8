import { hash } from "node:crypto";

/** Something that ended, or (`lifted`) counts again. */
export interface RevocationEvent {
  /** Digits. Of two marks of one thing the later one has the greater number. */
  readonly sequence: string;
  readonly kind: "jti" | "grant" | "client" | "user" | "agent";
  /**
   * The jti, UUID of the grant, client_id or UUID of the user; of a paused agent the client_id, and after a line feed the UUID of the user
   * if it is paused for that one alone.
   */
  readonly key: string;
  readonly lifted: boolean;
  /** Seconds since the epoch. */
  readonly revokedAt: number;
  /** Seconds since the epoch; no token that the mark could be about lives longer. */
  readonly expiresAt: number;
}

/** Marks of what ended before its time, written in the transaction that ended it. */
export interface RevocationEvents {
  /** A cursor: `since` returns whatever is not yet visible when the cursor is read. */
  edge(): Promise<string>;
  /**
   * Every mark that can be seen now and was not certain to be seen at the cursor's reading, some perhaps for a second time. Without a
   * cursor, or with one that is none of this database, everything that still matters (`whole`).
   */
  since(
    cursor: string | undefined,
  ): Promise<{ readonly marks: readonly RevocationEvent[]; readonly cursor: string; readonly whole: boolean }>;
}

/** Bytes of a digest: enough that no second text for one can be found. */
const LENGTH = 16;

/** A grant is named as the `jti` of its tokens name it. */
const packed = (uuid: string): string => Buffer.from(uuid.replaceAll("-", ""), "hex").toString("base64url");

/**
 * The digest by which the holder of a token recognizes a revocation event. A watcher learns no id of users, clients or tokens from it.
 * The texts are part of the contract (RevocationEvent in the proto).
 */
export function revocationDigest({ kind, key }: Pick<RevocationEvent, "kind" | "key">): Uint8Array {
  const name = kind === "grant" ? packed(key) : key;
  return hash("sha256", `${kind}:${name}`, "buffer").subarray(0, LENGTH);
}
