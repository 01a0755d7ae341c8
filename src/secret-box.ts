import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { Refusal } from "./errors.ts";

export type SecretBox = ReturnType<typeof secretBox>;

/** The text that was sealed; undefined after a change of VAULT_KEY. */
export function openedOrNot(box: SecretBox, sealed: string, about: string): string | undefined {
  try {
    return box.open(sealed, about);
  } catch {
    return undefined;
  }
}

const ALGORITHM = "aes-256-gcm";
const TAG_BYTES = 16;

/** Identifies the key of a sealed text, so that an error can name a changed key. */
const keyId = (key: Buffer): string => createHash("sha256").update(key).digest("base64url").slice(0, 8);

/**
 * Encrypts secrets that the server must be able to read again. `about` names the place of a secret: it can be opened for no other.
 * @param keyOf the key of VAULT_KEY as base64, read at first use; undefined without one
 * @param others keys that open secrets and seal none, as base64
 */
export function secretBox(keyOf: () => string | undefined, others: readonly string[] = []) {
  const opening = new Map(others.map((text) => Buffer.from(text, "base64")).map((each) => [keyId(each), each]));
  let known: Buffer | undefined;
  const find = (): Buffer | undefined => {
    const text = known === undefined ? keyOf() : undefined;
    if (text !== undefined) known = Buffer.from(text, "base64");
    return known;
  };
  const key = (): Buffer => {
    const found = find();
    if (found !== undefined) return found;
    throw new Refusal("invalid_request", "vault_key_missing", {
      description: "Set VAULT_KEY first: it encrypts secrets such as this one.",
    });
  };
  return {
    /** Whether there is a key to seal with. */
    usable: () => find() !== undefined,
    /** What every text begins with that the present key has sealed. @throws {Refusal} invalid_request without a key */
    prefix: () => `${keyId(key())}.`,
    /** @throws {Refusal} invalid_request without a key */
    seal(plain: string, about: string): string {
      const iv = randomBytes(12);
      const cipher = createCipheriv(ALGORITHM, key(), iv).setAAD(Buffer.from(about));
      const sealed = Buffer.concat([iv, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `${keyId(key())}.${sealed.toString("base64url")}`;
    },
    /** @throws {Error} for a text that was sealed by an unknown key or for another place */
    open(sealed: string, about: string): string {
      const [id = "", text = ""] = sealed.split(".");
      const sealedBy = id === keyId(key()) ? key() : opening.get(id);
      if (sealedBy === undefined)
        throw Object.assign(new Error("a secret was encrypted by another VAULT_KEY"), { code: "vault_key_unknown" });
      const bytes = Buffer.from(text, "base64url");
      const decipher = createDecipheriv(ALGORITHM, sealedBy, bytes.subarray(0, 12)).setAAD(Buffer.from(about));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(12, -TAG_BYTES)), decipher.final()]).toString("utf8");
    },
  };
}
