import { GuardRefusal } from "./refusal.ts";

/** What of a request may carry credentials. */
export interface Inbound {
  /** Every `Authorization` field of the request, each as it was sent. */
  readonly authorization: readonly string[];
  /** The query of the request target, with or without its question mark. */
  readonly query: string;
  /** Every `DPoP` field of the request. */
  readonly dpop?: readonly string[];
  readonly method?: string;
  /** The path of the request target, as the client sent it. */
  readonly path?: string;
}

/** How a token is presented: alone, or with a proof of possession (RFC 9449 §7.1). */
export type Scheme = "Bearer" | "DPoP";

/** What a guard asks of tokens: that they are bound to a key, or nothing while it also accepts bound ones. */
export type DpopUse = "accepted" | "required" | undefined;

const CREDENTIAL = /^(?:bearer|dpop) +([A-Za-z0-9\-._~+/]+=*)$/i; // RFC 6750 §2.1, b64token
const SCHEME = /^([A-Za-z0-9!#$%&'*+\-.^_`|~]+)(?: |$)/; // RFC 9110 §11.4
const SECOND_TOKEN = /,\s*(?:bearer|dpop)(?:\s|$)/i; // two fields that a runtime joined into one

/** The schemes that a challenge to a request names. */
export function schemesFor({ authorization: [field = ""] }: Inbound, dpop: DpopUse): readonly Scheme[] {
  if (dpop === undefined) return ["Bearer"];
  if (dpop === "required" || /^\s*dpop(?:\s|$)/i.test(field)) return ["DPoP"];
  return /^\s*bearer(?:\s|$)/i.test(field) ? ["Bearer"] : ["Bearer", "DPoP"];
}

/**
 * The token of a request and the scheme under which it came. Only the `Authorization` header is a source; a token in the query is never taken, and
 * beside one in the header it is a second credential.
 * @throws {GuardRefusal} no_credentials; invalid_request for a malformed header or more than one credential
 * @see RFC 6750 §2, §3.1; docs/protocol.md#guard
 */
export function readToken({ authorization, query }: Inbound, dpop?: DpopUse): { readonly scheme: Scheme; readonly token: string } {
  const [field, ...others] = authorization;
  if (field === undefined) throw new GuardRefusal("no_credentials", "header_missing");
  if (others.length > 0) throw new GuardRefusal("invalid_request", "credentials_repeated");
  const value = field.trim();
  if (value === "") throw new GuardRefusal("no_credentials", "header_empty");
  if (SECOND_TOKEN.test(value)) throw new GuardRefusal("invalid_request", "credentials_repeated");
  const scheme = SCHEME.exec(value)?.[1];
  if (scheme === undefined) throw new GuardRefusal("invalid_request", "header_malformed");
  // RFC 6750 §3.1: who tries another scheme has not tried to present a token, and learns what is needed instead.
  const name = scheme.toLowerCase();
  if (name !== "bearer" && (name !== "dpop" || dpop === undefined)) throw new GuardRefusal("no_credentials", "scheme_unsupported");
  const token = CREDENTIAL.exec(value)?.[1];
  if (token === undefined) throw new GuardRefusal("invalid_request", "header_malformed");
  if (query !== "" && new URLSearchParams(query).has("access_token")) throw new GuardRefusal("invalid_request", "credentials_repeated");
  return { scheme: name === "dpop" ? "DPoP" : "Bearer", token };
}
