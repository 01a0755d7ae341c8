/** The second signature of a token, for whoever wants to check it. */
export interface DetachedSignature {
  readonly alg: "ML-DSA-65";
  readonly signature: Uint8Array;
}

/** Detached signatures by the token's `jti`. They decide nothing. */
export interface DetachedSignatures {
  /** Keeps one until the token expires (seconds since the epoch). Coalesced, durable when it answers. */
  keep(jti: string, signature: DetachedSignature, expiresAt: number): Promise<void>;
  /** Coalesced. */
  of(jti: string): Promise<DetachedSignature | undefined>;
}
