import { hash, timingSafeEqual } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Refusal } from "../errors.ts";
import type { AuthorizationRequestSchema } from "../gen/countersign/token/v1/token_pb.ts";
import { formOf, parseParameters } from "./form.ts";

/** RFC 7636 §4.1. */
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;
/** SHA-256 as base64url has exactly 43 characters (RFC 7636 §4.2). */
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export const isCodeVerifier = (text: string): boolean => CODE_VERIFIER.test(text);
export const isCodeChallenge = (text: string): boolean => CODE_CHALLENGE.test(text);

/** RFC 7636 §4.6 for S256. */
export function verifierMatches(codeVerifier: string, codeChallenge: string): boolean {
  const computed = Buffer.from(hash("sha256", codeVerifier, "base64url"));
  const expected = Buffer.from(codeChallenge);
  return computed.length === expected.length && timingSafeEqual(computed, expected);
}

/** Parameters of features that the service does not have (OIDC Core §6, §7.2.1, RFC 9396). */
const UNSUPPORTED = ["request", "request_uri", "registration", "authorization_details"] as const;

type Request = MessageInitShape<typeof AuthorizationRequestSchema>;

/** Members of the request that are parameters sent at most once, with the parameters' names. */
const PARAMETERS = {
  clientId: "client_id",
  redirectUri: "redirect_uri",
  responseType: "response_type",
  codeChallenge: "code_challenge",
  codeChallengeMethod: "code_challenge_method",
  scope: "scope",
  state: "state",
  nonce: "nonce",
  responseMode: "response_mode",
  prompt: "prompt",
  maxAge: "max_age",
  acrValues: "acr_values",
  dpopJkt: "dpop_jkt",
  loginHint: "login_hint",
  idTokenHint: "id_token_hint",
} as const satisfies { readonly [M in keyof Request]?: string };

const members = Object.keys(PARAMETERS) as readonly (keyof typeof PARAMETERS)[];

/**
 * Reads an authorization request from a query or form. It lists repeats and unsupported parameters, which the core reports by redirect.
 * @throws {Refusal} invalid_request for text that is no form @see OAuth 2.1 §4.1.1, OIDC Core §3.1.2.1
 */
export function parseAuthorizationRequest(text: string): Request {
  const parameters = parseParameters(text);
  const { get, all } = formOf(parameters);
  const sent: { -readonly [Member in keyof typeof PARAMETERS]?: string | undefined } = {};
  for (const member of members) sent[member] = get(PARAMETERS[member]);
  const repeated: string[] = [];
  for (const [name, values] of parameters) if (values.length > 1 && name !== "resource") repeated.push(name);
  return {
    ...sent,
    clientId: get("client_id") ?? "",
    redirectUri: get("redirect_uri") ?? "",
    resource: [...all("resource")],
    repeatedParameters: repeated,
    unsupportedParameters: UNSUPPORTED.filter((name) => get(name) !== undefined),
  };
}

/**
 * The languages that an application asks for. They concern pages alone, so they are no part of the request that the core validates. The cut
 * may fall into the middle of a character, of which the rest cannot be percent-encoded.
 */
export const uiLocalesIn = (query: string): string | undefined =>
  query.includes("ui_locales=") ? formOf(parseParameters(query)).get("ui_locales")?.slice(0, 200).toWellFormed() : undefined;

/** How a `request_uri` begins that this server gives out (RFC 9126 §2.2). */
export const PUSHED_PREFIX = "urn:ietf:params:oauth:request_uri:";

export type PushedReference = { readonly clientId: string; readonly requestUri: string };

/**
 * The pushed request that an authorization request names; whatever else it says is ignored. An address as `request_uri` is none.
 * @throws {Refusal} invalid_request for a parameter that is missing or was sent more than once  @see RFC 9126 §4
 */
export function pushedReference(text: string): PushedReference | undefined {
  if (!text.includes("request_uri=")) return undefined;
  const parameters = parseParameters(text);
  const requestUris = parameters.get("request_uri") ?? [];
  const [requestUri] = requestUris;
  if (requestUri?.startsWith(PUSHED_PREFIX) !== true) return undefined;
  const [clientId = "", ...moreClients] = parameters.get("client_id") ?? [];
  if (requestUris.length > 1 || moreClients.length > 0 || clientId === "")
    throw new Refusal("invalid_request", "pushed_reference_malformed", {
      description: "Send client_id and request_uri once each.",
    });
  return { clientId, requestUri };
}

/** A valid request as a query that reads as the same request, without unknown parameters. */
export function authorizationQuery(request: Request): string {
  const query = new URLSearchParams();
  for (const member of members) {
    const value = request[member];
    if (value !== undefined) query.append(PARAMETERS[member], value);
  }
  for (const resource of request.resource ?? []) query.append("resource", resource);
  return query.toString();
}

/** The most characters of a percent-encoded parameter. Requests are stored while users sign in. */
const LONGEST: { readonly [M in keyof typeof PARAMETERS]?: number } = {
  state: 2048,
  nonce: 512,
  acrValues: 512,
  loginHint: 512,
  // An ID token of this server: claims of 1.7 kB (nonce, name and address of the longest) and an RSA-4096 signature, in base64url.
  idTokenHint: 3200,
};
/** Of all parameters together. */
const LONGEST_REQUEST = 4096;

/** The part of a request that is too long, and the most characters of it. Pure. */
export function tooLong(request: Request): { readonly what: string; readonly limit: number } | undefined {
  for (const member of members) {
    const [value, limit] = [request[member], LONGEST[member]];
    if (value !== undefined && limit !== undefined && encodeValue(value).length > limit) return { what: PARAMETERS[member], limit };
  }
  return authorizationQuery(request).length > LONGEST_REQUEST ? { what: "The whole request", limit: LONGEST_REQUEST } : undefined;
}

/** The redirect URI with parameters. Appends text, since a URL class would change the registered URI. @see RFC 6749 §3.1.2, RFC 9207 §2 */
export function redirectWith(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) pairs.push(`${name}=${encodeValue(value)}`);
  return `${uri}${uri.includes("?") ? "&" : "?"}${pairs.join("&")}`;
}

/** Also the characters that `encodeURIComponent` leaves alone but that could end an attribute or a header's quoted string. */
const encodeValue = (value: string): string =>
  encodeURIComponent(value.toWellFormed()).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
