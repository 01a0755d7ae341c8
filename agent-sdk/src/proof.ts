import { type Jwk, type Key, type KeyPair, nowInSeconds, randomId, sha256, signedJwt } from "./jws.ts";
import { keep } from "./token-cache.ts";

/** The algorithm of proofs, which every server with DPoP is likely to accept. */
export const PROOF_ALGORITHM = "ES256";
const REMEMBERED_NONCES = 100;

const CURVE = "P-256";

/** A new key pair for proofs, whose private half cannot be exported. */
export const generateProofKey = (): Promise<KeyPair> =>
  crypto.subtle.generateKey({ name: "ECDSA", namedCurve: CURVE }, false, ["sign", "verify"]);

/** Whether the agent can make proofs with a pair. */
export const isProofKey = (pair: Partial<KeyPair> | null): boolean =>
  (["private", "public"] as const).every((type) => {
    const key = pair?.[`${type}Key`];
    if (!(key instanceof CryptoKey) || key.type !== type) return false;
    if (type === "public" && !key.extractable) return false; // each proof has it
    return key.algorithm.name === "ECDSA" && Reflect.get(key.algorithm, "namedCurve") === CURVE;
  });

export interface ProvenRequest {
  readonly method: string;
  readonly url: string;
  /** The access token that is sent with it. */
  readonly token?: string;
  /** Which nonces count: those of the authorization server, or of the resource servers at the origin. */
  readonly party: string;
}

export type Prover = ReturnType<typeof prover>;

/**
 * Proofs of possession, with the last nonce of each server.
 * @param given the key pair of all proofs; without one a pair is made when it is first needed
 */
export function prover(given: KeyPair | undefined) {
  const nonces = new Map<string, string>();
  let made: Promise<{ readonly key: Key; readonly jwk: Jwk }> | undefined;
  const pair = () => {
    made ??= (async () => {
      const { privateKey, publicKey } = given ?? (await generateProofKey());
      const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
      return { key: privateKey, jwk: { crv, kty, x, y } as Jwk };
    })();
    return made;
  };
  return {
    /** A new proof. @see RFC 9449 §4.2 */
    async prove({ method, url, token, party }: ProvenRequest): Promise<string> {
      const { key, jwk } = await pair();
      const { origin, pathname } = new URL(url);
      const nonce = nonces.get(party);
      return signedJwt(
        key,
        { typ: "dpop+jwt", jwk },
        {
          jti: randomId(),
          htm: method,
          htu: `${origin}${pathname}`,
          iat: nowInSeconds(),
          ...(token !== undefined && { ath: await sha256(token) }),
          ...(nonce !== undefined && { nonce }),
        },
      );
    },
    /** Keeps the nonce of a response. @returns whether it has one @see RFC 9449 §8.2 */
    noted(party: string, headers: Headers): boolean {
      const nonce = headers.get("dpop-nonce");
      if (nonce === null) return false;
      keep(nonces, party, nonce, REMEMBERED_NONCES);
      return true;
    },
    /** The thumbprint of the key. @see RFC 7638 §3 */
    thumbprint: async (): Promise<string> => sha256(JSON.stringify((await pair()).jwk)), // its members are in order
  };
}
