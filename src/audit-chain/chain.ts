import { createHash, createPublicKey, hash, type JsonWebKeyInput, type KeyObject, sign, verify } from "node:crypto";

/** A JSON value; numbers in sealed records are whole. */
export type Sealable = string | number | boolean | null | readonly Sealable[] | { readonly [member: string]: Sealable | undefined };

/** A record as it is sealed, with every member that it has, whichever release added it. */
export type SealedRecord = { readonly [member: string]: Sealable | undefined };

/** A record's place in the chain: `seq` counts from 1 without gaps; `hash` is a SHA-256, base64url without padding. */
export type Link = { readonly seq: number; readonly hash: string };

/** Domain separation for the hashes. A change of the encoding changes this text. */
const DOMAIN = "countersign audit record v1";

const sha256 = (text: string): string => hash("sha256", text, "base64url");

/** The link before record 1, the same for every chain. */
export const GENESIS: Link = { seq: 0, hash: sha256("countersign audit chain v1") };

/** The canonical JSON of a value. @see RFC 8785 §3.2, limited to strings, whole numbers, lists and objects */
export function canonical(value: Sealable): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonical).join(",")}]`;
  let members = "";
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${canonical(member)}`;
  }
  return `{${members}}`;
}

// Array.isArray does not narrow a readonly list away.
const isList = (value: object): value is readonly Sealable[] => Array.isArray(value);

/** The next link. Its hash covers this record and every one before it. */
export function link(previous: Link, record: SealedRecord): Link {
  const seq = previous.seq + 1;
  return { seq, hash: sha256(`${DOMAIN}\n${seq}\n${previous.hash}\n${canonical(record)}`) };
}

export function linkAll(previous: Link, records: readonly SealedRecord[]): readonly Link[] {
  let last = previous;
  return records.map((record) => {
    last = link(last, record);
    return last;
  });
}

/** A type of its own, so that checkpoints and tokens cannot be mistaken for each other though one key signs both (RFC 8725 §3.11). */
const CHECKPOINT_TYPE = "countersign-audit-checkpoint+jws";

/** The Ed25519 key of access tokens signs checkpoints. */
export type CheckpointSigner = { readonly issuer: string; readonly kid: string; readonly privateKey: KeyObject };

/** The head of the chain at a time: `at`, in seconds since the epoch. */
export type Checkpoint = Link & { readonly issuer: string; readonly at: number };

/** `jws` is a compact JWS (RFC 7515 §3.1). */
export type SignedCheckpoint = { readonly seq: number; readonly kid: string; readonly jws: string };

const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** @param at seconds since the epoch */
export function signCheckpoint({ seq, hash }: Link, at: number, { issuer, kid, privateKey }: CheckpointSigner): SignedCheckpoint {
  const input = `${segment({ alg: "EdDSA", typ: CHECKPOINT_TYPE, kid })}.${segment({ iss: issuer, seq, hash, iat: at })}`;
  return { seq, kid, jws: `${input}.${sign(null, Buffer.from(input), privateKey).toString("base64url")}` };
}

/** Public keys by key id. */
export type CheckpointKeys = ReadonlyMap<string, KeyObject>;

export type CheckpointVerdict = Checkpoint | "malformed" | "unknown_key" | "bad_signature";

/** Reads a checkpoint and verifies its signature, but not whether it matches the chain. @returns its content, or why it is invalid */
export function readCheckpoint(jws: string, keys: CheckpointKeys): CheckpointVerdict {
  const [first = "", second = "", third = "", ...rest] = jws.split(".");
  const [header, payload] = [objectOf(first), objectOf(second)];
  if (rest.length > 0 || header?.typ !== CHECKPOINT_TYPE || header.alg !== "EdDSA" || "crit" in header) return "malformed";
  const { iss, seq, hash, iat } = payload ?? {};
  if (typeof iss !== "string" || !Number.isSafeInteger(seq) || typeof hash !== "string" || !Number.isSafeInteger(iat)) return "malformed";
  const key = typeof header.kid === "string" ? keys.get(header.kid) : undefined;
  if (key === undefined) return "unknown_key";
  if (!verify(null, Buffer.from(`${first}.${second}`), key, Buffer.from(third, "base64url"))) return "bad_signature";
  return { issuer: iss, seq: Number(seq), hash, at: Number(iat) };
}

function objectOf(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * An Ed25519 public key and its thumbprint, so that to trust the id is to trust the key. Undefined for every other key.
 * @see RFC 7638 §3, RFC 8037 §2
 */
export function checkpointKey(jwk: Readonly<Record<string, unknown>>): { readonly kid: string; readonly key: KeyObject } | undefined {
  const { kty, crv, x } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519" || typeof x !== "string") return undefined;
  try {
    const key = createPublicKey({ key: { kty, crv, x }, format: "jwk" } satisfies JsonWebKeyInput);
    return { kid: createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url"), key };
  } catch {
    return undefined;
  }
}
