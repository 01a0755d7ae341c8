import { base64url } from "jose";
import { assertWritten } from "./identifier.ts";
import { fetchKeys, trustworthyUrl } from "./issuer-document.ts";
import { issuerKeys } from "./issuer-keys.ts";
import { readMldsaKeySet } from "./ml-dsa.ts";
import { assertOptions, CLOCKS, FUNCTION, needed, type OptionTable, TEXT } from "./option-table.ts";
import { GuardRefusal } from "./refusal.ts";
import { type Clocks, systemClocks } from "./time.ts";
import { parseToken } from "./token.ts";

/** A detached signature as introspection and the token answer carry it; further members are ignored. */
export interface DetachedSignature {
  /** Unpadded base64url. */
  readonly pqc_signature?: string | undefined;
  readonly pqc_alg?: string | undefined;
}

export interface PqcOptions {
  /** The issuer identifier, exactly as in `iss`. */
  readonly issuer: string;
  /** Asks the issuer's introspection endpoint about a token, for tokens whose signature is not given. It must give up in time: requests wait for it. */
  readonly introspect?: (token: string) => Promise<DetachedSignature>;
  /** How the issuer's keys are reached. Default: the runtime's own fetch. */
  readonly fetch?: typeof globalThis.fetch;
  /** The clocks. Default: the machine's. */
  readonly clocks?: Clocks;
}

/** The state of a token's second signature. */
export type PqcVerdict =
  | { readonly kind: "verified"; readonly kid: string }
  /** The header promises no second signature. */
  | { readonly kind: "classical" }
  /** It promises one which cannot be checked: it is missing, or the key is not among the issuer's. */
  | { readonly kind: "unverifiable"; readonly reason: "signature_missing" | "key_unknown" | "algorithm_unsupported" }
  | { readonly kind: "forged" };

export interface PqcVerifier {
  /**
   * Judges the ML-DSA-65 signature of a token, and nothing else: the Ed25519 signature and the claims are the guard's to judge.
   * @param detached the signature, where the caller has it; introspection is asked otherwise
   * @throws {GuardRefusal} invalid_token for what is no access token by its form, temporarily_unavailable when keys or signature cannot be had
   */
  check(token: string, detached?: DetachedSignature): Promise<PqcVerdict>;
  /** The same for those who insist. @throws {GuardRefusal} invalid_token for every verdict but `verified` */
  assertHybrid(token: string, detached?: DetachedSignature): Promise<void>;
  /**
   * Whether the issuer still has the ML-DSA key that a token names: what was verified counts no longer once the key is withdrawn.
   * @throws {GuardRefusal} as `check` does
   */
  hasKeyOf(token: string): Promise<boolean>;
}

const OPTIONS: OptionTable<PqcOptions> = { issuer: needed(TEXT), introspect: FUNCTION, fetch: FUNCTION, clocks: CLOCKS };

/**
 * The post-quantum check of hybrid access tokens. The key is the one that the signed header names, from the issuer's JWK Set.
 * @throws {TypeError} when an option is wrong, an issuer that cannot be trusted to be itself among them
 * @see RFC 9964, docs/protocol.md#hybrid-signing
 */
export function createPqcVerifier(options: PqcOptions): PqcVerifier {
  assertOptions("createPqcVerifier", options, OPTIONS);
  const { issuer, introspect, clocks = systemClocks } = options;
  assertWritten("issuer of createPqcVerifier", issuer, ["search", "hash"]);
  trustworthyUrl(issuer, "issuer");
  const fetch = options.fetch ?? ((...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request));
  const keys = issuerKeys((known) => fetchKeys(issuer, known, fetch, readMldsaKeySet), clocks, true);

  async function check(token: string, given?: DetachedSignature): Promise<PqcVerdict> {
    const { input, claims } = parseToken(token);
    if (claims.iss !== issuer) throw new GuardRefusal("invalid_token", "issuer_unknown");
    const { pqc_alg: alg, pqc_kid: kid } = headerOf(token);
    if (alg === undefined) return { kind: "classical" };
    if (alg !== "ML-DSA-65" || typeof kid !== "string") return { kind: "unverifiable", reason: "algorithm_unsupported" };
    const detached = given ?? (await ask(token));
    if (detached?.pqc_signature === undefined) return { kind: "unverifiable", reason: "signature_missing" };
    if (detached.pqc_alg !== undefined && detached.pqc_alg !== alg) return { kind: "unverifiable", reason: "algorithm_unsupported" };
    const key = await keys.find(kid).catch(unknownKey);
    if (key === undefined) return { kind: "unverifiable", reason: "key_unknown" };
    const signature = decode(detached.pqc_signature);
    const holds = signature !== undefined && (await key.verifies(input, signature));
    return holds ? { kind: "verified", kid } : { kind: "forged" };
  }

  async function hasKeyOf(token: string): Promise<boolean> {
    parseToken(token);
    const { pqc_kid: kid } = headerOf(token);
    return typeof kid === "string" && (await keys.find(kid).catch(unknownKey)) !== undefined;
  }

  async function ask(token: string): Promise<DetachedSignature | undefined> {
    try {
      return await introspect?.(token);
    } catch (cause) {
      throw new GuardRefusal("temporarily_unavailable", "introspection_failed", { cause });
    }
  }

  return {
    check,
    hasKeyOf,
    async assertHybrid(token, detached) {
      const verdict = await check(token, detached);
      if (verdict.kind === "verified") return;
      throw new GuardRefusal("invalid_token", verdict.kind === "unverifiable" ? `pqc_${verdict.reason}` : `pqc_${verdict.kind}`);
    },
  };
}

/** The header of a token that parseToken has found well-formed. */
const headerOf = (token: string): Readonly<Record<string, unknown>> =>
  JSON.parse(new TextDecoder().decode(base64url.decode(token.slice(0, token.indexOf(".")))));

/** A missing key is a verdict. Keys that cannot be fetched are an outage. */
function unknownKey(cause: unknown): undefined {
  if (cause instanceof GuardRefusal && cause.code === "invalid_token") return undefined;
  throw cause;
}

/** The bytes of a signature; undefined for what is no base64url, wherever it comes from. */
function decode(text: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof text !== "string" || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    return new Uint8Array(base64url.decode(text));
  } catch {
    return undefined;
  }
}
