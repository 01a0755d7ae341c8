import { Refusal } from "../errors.ts";

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
export function decodeFormText(text: string): string {
  let decoded = text.includes("+") ? text.replaceAll("+", " ") : text;
  try {
    if (decoded.includes("%")) decoded = decodeURIComponent(decoded);
  } catch (cause) {
    throw new Refusal("invalid_request", "bad_percent_encoding", { description: "A parameter is not properly encoded.", cause });
  }
  if (decoded.includes("\0")) throw new Refusal("invalid_request", "nul_in_parameter", { description: "A parameter contains NUL." });
  return decoded;
}
