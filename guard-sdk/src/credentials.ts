import { GuardRefusal } from "./refusal.ts";

/** What of a request may carry credentials. */
export interface Inbound {
  /** Every `Authorization` field of the request, each as it was sent. */
  readonly authorization: readonly string[];
  /** The query of the request target, with or without its question mark. */
  readonly query: string;
}

const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i; // RFC 6750 §2.1, b64token
const SCHEME = /^([A-Za-z0-9!#$%&'*+\-.^_`|~]+)(?: |$)/; // RFC 9110 §11.4
const SECOND_BEARER = /,\s*bearer(?:\s|$)/i; // two fields that a runtime joined into one

/**
 * The bearer token of a request. Only the `Authorization` header is a source; a token in the query is never taken, and
 * beside one in the header it is a second credential.
 * @throws {GuardRefusal} no_credentials; invalid_request for a malformed header or more than one credential
 * @see RFC 6750 §2, §3.1; docs/protocol.md#guard
 */
export function readBearer({ authorization, query }: Inbound): string {
  const [field, ...others] = authorization;
  if (field === undefined) throw new GuardRefusal("no_credentials", "header_missing");
  if (others.length > 0) throw new GuardRefusal("invalid_request", "credentials_repeated");
  const value = field.trim();
  if (value === "") throw new GuardRefusal("no_credentials", "header_empty");
  if (SECOND_BEARER.test(value)) throw new GuardRefusal("invalid_request", "credentials_repeated");
  const scheme = SCHEME.exec(value)?.[1];
  if (scheme === undefined) throw new GuardRefusal("invalid_request", "header_malformed");
  // RFC 6750 §3.1: who tries another scheme has not tried to present a token, and learns what is needed instead.
  if (scheme.toLowerCase() !== "bearer") throw new GuardRefusal("no_credentials", "scheme_unsupported");
  const token = BEARER.exec(value)?.[1];
  if (token === undefined) throw new GuardRefusal("invalid_request", "header_malformed");
  if (query !== "" && new URLSearchParams(query).has("access_token")) throw new GuardRefusal("invalid_request", "credentials_repeated");
  return token;
}
