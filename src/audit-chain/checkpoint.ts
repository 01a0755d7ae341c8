import { createHash, createPublicKey, type JsonWebKeyInput, type KeyObject, sign, verify } from "node:crypto";
import type { Link } from "./link.ts";

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
