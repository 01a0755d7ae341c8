import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AuthorizationRequestSchema } from "../gen/countersign/token/v1/token_pb.ts";
import { formOf, parseParameters } from "./form.ts";

/** Parameters that would change what is asked for, of features that the service does not have (OIDC Core §6, §7.2.1). */
const UNSUPPORTED = ["request", "request_uri", "registration"] as const;

/**
 * Reads the query of a GET, or the form of a POST, to the authorization endpoint. Judges nothing: repeats and unsupported parameters
 * are named in the request, since the core tells the client about them by redirect.
 * @throws {Refusal} invalid_request for text that is no form
 * @see OAuth 2.1 §4.1.1, OIDC Core §3.1.2.1
 */
export function parseAuthorizationRequest(text: string): MessageInitShape<typeof AuthorizationRequestSchema> {
  const parameters = parseParameters(text);
  const { get, all } = formOf(parameters);
  const repeated = [...parameters].filter(([name, values]) => values.length > 1 && name !== "resource").map(([name]) => name);
  return {
    clientId: get("client_id") ?? "",
    redirectUri: get("redirect_uri") ?? "",
    responseType: get("response_type"),
    codeChallenge: get("code_challenge"),
    codeChallengeMethod: get("code_challenge_method"),
    scope: get("scope"),
    state: get("state"),
    nonce: get("nonce"),
    resource: [...all("resource")],
    responseMode: get("response_mode"),
    prompt: get("prompt"),
    maxAge: get("max_age"),
    loginHint: get("login_hint"),
    idTokenHint: get("id_token_hint"),
    repeatedParameters: repeated,
    unsupportedParameters: UNSUPPORTED.filter((name) => get(name) !== undefined),
  };
}

/**
 * The address to redirect to, built by appending text: the registered URI keeps every byte, which a URL class would not grant.
 * Members that are undefined are left out.
 * @see RFC 6749 §3.1.2, RFC 9207 §2
 */
export function redirectWith(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeValue(value)}`]));
  return `${uri}${uri.includes("?") ? "&" : "?"}${pairs.join("&")}`;
}

/** Also the characters that `encodeURIComponent` leaves alone but that could end an attribute or a header's quoted string. */
const encodeValue = (value: string): string =>
  encodeURIComponent(value.toWellFormed()).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
