import { createHash, createPublicKey, type JsonWebKeyInput, type KeyObject, sign, verify } from "node:crypto";
import type { Link } from "./link.ts";

/** Of its own kind, so that no checkpoint passes for a token and no token for a checkpoint, though one key signs both (RFC 8725 §3.11). */
const CHECKPOINT_TYPE = "countersign-audit-checkpoint+jws";

/** Who signs checkpoints: the Ed25519 key of access tokens. */
export interface CheckpointSigner {
  readonly issuer: string;
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** The content of a checkpoint: the head of the chain at a time. */
export interface Checkpoint extends Link {
  readonly issuer: string;
  /** Seconds since the epoch. */
  readonly at: number;
}

/** A checkpoint as it is stored and exported: a compact JWS (RFC 7515 §3.1). */
export interface SignedCheckpoint {
  readonly seq: number;
  readonly kid: string;
  readonly jws: string;
}

const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Signs the head of the chain. @param at seconds since the epoch */
export function signCheckpoint({ seq, hash }: Link, at: number, { issuer, kid, privateKey }: CheckpointSigner): SignedCheckpoint {
  const input = `${segment({ alg: "EdDSA", typ: CHECKPOINT_TYPE, kid })}.${segment({ iss: issuer, seq, hash, iat: at })}`;
  return { seq, kid, jws: `${input}.${sign(null, Buffer.from(input), privateKey).toString("base64url")}` };
}

/** Public keys of checkpoints by their id. */
export type CheckpointKeys = ReadonlyMap<string, KeyObject>;

/** The content of a checkpoint, or why it is not valid. */
export type CheckpointVerdict = Checkpoint | "malformed" | "unknown_key" | "bad_signature";

/** Reads a checkpoint and judges its signature; whether it fits the chain is the caller's to judge. */
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
 * An Ed25519 public key with the id that its own members give it, so that trusting an id is trusting the key.
 * @returns undefined for every other key
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
