import type { MessageInitShape } from "@bufbuild/protobuf";
import { isRefusal, Refusal } from "../errors.ts";
import type { ClientCredentialSchema } from "../gen/countersign/token/v1/token_pb.ts";

const MAX_PARAMETERS = 200;

/** Parameters that their own standards allow more than once: RFC 8707 §2, RFC 8693 §2.1. */
const REPEATABLE: ReadonlySet<string> = new Set(["resource", "audience"]);

/** Every parameter of a query or form in the order of its values, empty ones included. */
export type Parameters = ReadonlyMap<string, readonly string[]>;

/** The parameters of a request that may each appear once. A parameter sent without a value counts as absent (OAuth 2.1 §3.1). */
export interface Form {
  get(name: string): string | undefined;
  /** The values of a repeatable parameter. */
  all(name: "resource" | "audience"): readonly string[];
}

/**
 * Reads `application/x-www-form-urlencoded` text, of a body or of a query.
 * @throws {Refusal} invalid_request for a broken percent-encoding, NUL, invalid UTF-8 or more than 200 parameters
 */
export function parseParameters(text: string): Parameters {
  const parameters = new Map<string, string[]>();
  let count = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf("&", start);
    const end = found === -1 ? text.length : found;
    if (end > start) {
      count += 1;
      if (count > MAX_PARAMETERS) throw new Refusal("invalid_request", "too_many_parameters", { description: "Too many parameters." });
      const pair = text.slice(start, end);
      const equals = pair.indexOf("=");
      const name = decodeFormText(equals === -1 ? pair : pair.slice(0, equals));
      const value = equals === -1 ? "" : decodeFormText(pair.slice(equals + 1));
      const values = parameters.get(name);
      if (values === undefined) parameters.set(name, [value]);
      else values.push(value);
    }
    start = end + 1;
  }
  return parameters;
}

/** Reads a form without repeated parameters. @throws {Refusal} invalid_request, also as `parseParameters` does @see RFC 6749 §3.2 */
export function parseForm(text: string): Form {
  const parameters = parseParameters(text);
  for (const [name, values] of parameters) {
    if (values.length > 1 && !REPEATABLE.has(name)) {
      throw new Refusal("invalid_request", "parameter_repeated", { description: "A parameter was sent more than once." });
    }
  }
  return formOf(parameters);
}

/** The first value of each parameter, for callers that handle repeats. */
export const formOf = (parameters: Parameters): Form => ({
  get: (name) => parameters.get(name)?.[0] || undefined,
  all: (name) => parameters.get(name)?.filter((value) => value !== "") ?? [],
});

/** One form-encoded half of a pair: `+` is a space, `%` starts two hexadecimal digits of UTF-8. @throws {Refusal} invalid_request */
function decodeFormText(text: string): string {
  let decoded = text.includes("+") ? text.replaceAll("+", " ") : text;
  try {
    if (decoded.includes("%")) decoded = decodeURIComponent(decoded);
  } catch (cause) {
    throw new Refusal("invalid_request", "bad_percent_encoding", { description: "A parameter is not properly encoded.", cause });
  }
  if (decoded.includes("\0")) throw new Refusal("invalid_request", "nul_in_parameter", { description: "A parameter contains NUL." });
  return decoded;
}

type ClientCredential = Exclude<MessageInitShape<typeof ClientCredentialSchema>, { readonly $typeName: string }>;

/** Base64 with correct padding, or without any. Its first character is no space: else spaces are divided between both sides of it in every way. */
const BASIC = /^basic +(?=[^ ])((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?) *$/i;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Parameters that must not be in a query (OAuth 2.1 §2.4.1, §3.2). */
const SECRET_PARAMETERS = [
  "client_secret",
  "client_assertion",
  "code",
  "code_verifier",
  "refresh_token",
  "subject_token",
  "actor_token",
  "assertion",
  "token",
  "access_token",
  "password",
];
const SECRET_IN_QUERY = new RegExp(`(?:^|&)(?:${SECRET_PARAMETERS.join("|")})(?:=|&|$)`);

/**
 * Collects the client credentials of a request. The core decides about several methods. Basic with an empty secret counts as `client_id`.
 * @param address of the caller
 * @throws {Refusal} invalid_client for an `Authorization` header that is no well-formed Basic
 * @see RFC 6749 §2.3.1, RFC 7521 §4.2, docs/protocol.md#client-authentication
 */
export function parseClientCredential(authorization: string | undefined, form: Form, address: string): ClientCredential {
  const clientId = form.get("client_id");
  const clientSecret = form.get("client_secret");
  const clientAssertion = form.get("client_assertion");
  const clientAssertionType = form.get("client_assertion_type");
  const isAsserted = clientAssertion !== undefined || clientAssertionType !== undefined;
  const assertion = isAsserted ? { clientAssertion: clientAssertion ?? "", clientAssertionType: clientAssertionType ?? "" } : undefined;
  if (authorization === undefined) return { address, clientId, clientSecret, assertion };
  const basic = parseBasic(authorization);
  const namesOnly = basic.clientSecret === "" && clientSecret === undefined && assertion === undefined;
  if (namesOnly && (clientId === undefined || clientId === basic.clientId)) return { address, clientId: basic.clientId };
  return { address, clientId, basic, clientSecret, assertion };
}

/** @throws {Refusal} invalid_request for a credential in the query string, where logs and histories would keep it */
export function assertNoCredentialInQuery(query: string): void {
  if (query === "") return;
  if (SECRET_IN_QUERY.test(query.includes("%") ? lenientlyDecoded(query) : query)) {
    throw new Refusal("invalid_request", "credential_in_query", { description: "Credentials must not be sent in the query string." });
  }
}

/**
 * The token of a `Bearer` header; undefined where there is no such header. Well-formed headers of the scheme `DPoP` are read elsewhere.
 * @throws {Refusal} invalid_request for any other header of these schemes  @see RFC 6750 §2.1, §3.1, RFC 9449 §7.1
 */
export function parseBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined || !/^(?:bearer|dpop)(?: |$)/i.test(authorization)) return undefined;
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1];
  if (token === undefined)
    throw new Refusal("invalid_request", "malformed_bearer", { description: "The Authorization header is malformed." });
  return token;
}

function parseBasic(authorization: string): { clientId: string; clientSecret: string } {
  const encoded = BASIC.exec(authorization)?.[1];
  if (encoded === undefined) throw new Refusal("invalid_client", "malformed_authorization");
  try {
    const pair = utf8.decode(Buffer.from(encoded, "base64"));
    const colon = pair.indexOf(":");
    if (colon < 1 || pair.includes("\0")) throw new Refusal("invalid_client", "malformed_basic");
    return { clientId: decodeFormText(pair.slice(0, colon)), clientSecret: decodeFormText(pair.slice(colon + 1)) };
  } catch (cause) {
    throw isRefusal(cause) && cause.code === "invalid_client" ? cause : new Refusal("invalid_client", "malformed_basic", { cause });
  }
}

/** Decodes ASCII only, which suffices to find parameter names, and ignores broken escapes. */
const lenientlyDecoded = (query: string): string =>
  query.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
