import type { Principal } from "./principal.ts";
import type { Clocks } from "./time.ts";

/** Says whose token this is. @throws {GuardRefusal} invalid_token, temporarily_unavailable */
export type VerifyToken = (token: string) => Promise<Principal>;

/** What a verification needs to know of its guard. */
export interface VerificationSettings {
  readonly issuers: readonly string[];
  /** The spellings of the resource that count as itself. */
  readonly audiences: ReadonlySet<string>;
  readonly clocks: Clocks;
  readonly fetch: typeof globalThis.fetch;
  /** How many tokens may be remembered. */
  readonly tokenCacheSize: number;
}

/** A running verification. */
export interface Verifier {
  readonly verify: VerifyToken;
  /** Ends what is open to the authorization server. */
  close(): void;
}

/**
 * How tokens are verified: `introspection` of this package, `grpcIntrospection` or `localWithRevocations` of its `grpc` entry.
 * @throws {TypeError} when it does not go with the settings of the guard
 */
export type Verification = (settings: VerificationSettings) => Verifier;

/** The one issuer of a guard that asks an authorization server. @throws {TypeError} when there are several */
export function onlyIssuer(issuers: readonly string[]): string {
  const [issuer, ...others] = issuers;
  if (issuer === undefined || others.length > 0) {
    throw new TypeError("a guard that asks the authorization server can have but one; make one guard for each");
  }
  return issuer;
}
