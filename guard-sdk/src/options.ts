import { assertWritten } from "./identifier.ts";
import { trustworthyUrl } from "./issuer-document.ts";
import {
  assertOptions,
  CLOCKS,
  FUNCTION,
  NONCE_SECRET,
  NUMBER,
  needed,
  type OptionTable,
  oneOf,
  TEXT,
  TEXTS,
  VERIFICATION,
} from "./option-table.ts";
import type { GuardRefusal } from "./refusal.ts";
import { scopeList } from "./scopes.ts";
import { type Clocks, systemClocks } from "./time.ts";
import type { Verification } from "./verification.ts";

export interface GuardOptions {
  /** The identifier of the protected resource, as clients call it: an http(s) URL without fragment. Tokens must name it in `aud`. */
  readonly resource: string;
  /** The issuer identifiers whose tokens are accepted, exactly as they stand in `iss`; at least one. */
  readonly authorizationServers: readonly string[];
  /** What every request needs unless its route says otherwise. Default: none, any valid token will do. */
  readonly scopes?: readonly string[];
  /** Further scopes that routes of this resource ask for; the metadata document lists them beside `scopes`. */
  readonly scopesSupported?: readonly string[];
  /** A human-readable name for the metadata document. */
  readonly resourceName?: string;
  /** URL of documentation for developers, for the metadata document. */
  readonly resourceDocumentation?: string;
  /** How tokens are verified. Default: in this process, against the JWK Sets of the issuers. */
  readonly verification?: Verification;
  /** How many verified tokens are remembered until they expire. Default 1000; 0 verifies every request. */
  readonly tokenCacheSize?: number;
  /**
   * Called for every refusal, for logs and counters; `reason` is a fixed word, never anything that the client sent. It may be async: no answer waits
   * for it, and its error is a warning.
   */
  readonly onRefusal?: (refusal: GuardRefusal) => void;
  /**
   * Whether tokens may be bound to a key (DPoP, RFC 9449): `accepted` takes bound tokens with a proof, and others as bearer tokens; `required` takes
   * bound ones alone. Default: bound tokens are refused.
   */
  readonly dpop?: "accepted" | "required";
  /**
   * Whether proofs must have a nonce of this server: `true` for nonces of this process, or a secret of at least 32 characters that all processes behind
   * one address share. Default: proofs need no nonce.
   */
  readonly dpopNonce?: true | string;
  /**
   * The URL under which clients reach the root of this server, for a proxy that rewrites paths: proofs name it and the path that arrives here. Default: the
   * origin of `resource`.
   */
  readonly publicUrl?: string;
  /** How issuers are reached. Default: the runtime's own fetch. */
  readonly fetch?: typeof globalThis.fetch;
  /** The clocks. Default: the machine's. */
  readonly clocks?: Clocks;
}

const OPTIONS: OptionTable<GuardOptions> = {
  resource: needed(TEXT),
  authorizationServers: needed(TEXTS),
  scopes: TEXTS,
  scopesSupported: TEXTS,
  resourceName: TEXT,
  resourceDocumentation: TEXT,
  verification: VERIFICATION,
  tokenCacheSize: NUMBER,
  onRefusal: FUNCTION,
  dpop: oneOf("accepted", "required"),
  dpopNonce: NONCE_SECRET,
  publicUrl: TEXT,
  fetch: FUNCTION,
  clocks: CLOCKS,
};

/** @throws {TypeError} saying which option is wrong, so that a mistake shows at start and not with the first token */
export function settle(options: GuardOptions) {
  assertOptions("createGuard", options, OPTIONS);
  const scopes = scopeList(options.scopes ?? []);
  if (options.dpop === undefined && (options.dpopNonce ?? options.publicUrl) !== undefined)
    throw new TypeError("dpopNonce and publicUrl of createGuard go with dpop, which is missing");
  // RFC 9728 §1.2. Plain http is left to the deployment: a proxy in front may well speak https.
  assertWritten("resource of createGuard", options.resource, ["hash"]);
  return {
    resource: options.resource,
    audiences: spellings(options.resource),
    issuers: checkedIssuers(options.authorizationServers),
    scopes,
    scopesSupported: scopeList([...scopes, ...(options.scopesSupported ?? [])]),
    resourceName: options.resourceName,
    resourceDocumentation: options.resourceDocumentation,
    tokenCacheSize: checkedSize(options.tokenCacheSize ?? 1000),
    onRefusal: options.onRefusal,
    verification: options.verification,
    dpop: options.dpop,
    dpopNonce: options.dpopNonce,
    publicRoot: publicRoot(options.publicUrl ?? new URL(options.resource).origin),
    // Looked up at each call, so that a fetch that is instrumented later is the one that is used.
    fetch: options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request)),
    clocks: options.clocks ?? systemClocks,
  };
}

/** Without its slash, so that the path of a request can follow. */
function publicRoot(url: string): string {
  assertWritten("publicUrl of createGuard", url, ["search", "hash"]);
  return url.replace(/\/$/, "");
}

/** Clients that build URLs with the URL class send a root resource with its slash, others without: both mean this one. */
function spellings(resource: string): ReadonlySet<string> {
  const { pathname, search } = new URL(resource);
  if (pathname !== "/" || search !== "") return new Set([resource]);
  return new Set([resource, resource.endsWith("/") ? resource.slice(0, -1) : `${resource}/`]);
}

/** @see RFC 8414 §2: an issuer has neither query nor fragment. */
function checkedIssuers(issuers: readonly string[]): readonly string[] {
  if (issuers.length === 0) throw new TypeError("authorizationServers must name at least one issuer");
  for (const issuer of issuers) {
    assertWritten("authorizationServers of createGuard", issuer, ["search", "hash"]);
    trustworthyUrl(issuer, "an authorization server");
  }
  return Object.freeze([...issuers]);
}

function checkedSize(size: number): number {
  if (!Number.isSafeInteger(size) || size < 0) throw new TypeError(`tokenCacheSize must be a whole number from 0 on: ${size}`);
  return size;
}
