// A request of the API reference as a command. What is secret, or may be, is a variable of the shell there.

const NAMES = "secret|password|token|assertion|code|verifier|key";
/** Names of fields that hold a secret. */
export const SECRET = new RegExp(`(?:${NAMES}|dpop)$`, "i");
/** A member of a JSON text that holds one. */
const SECRET_MEMBER = new RegExp(`("([^"\\\\]*(?:${NAMES}))"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, "gi");

const quoted = (text) => (text === "" ? "" : `'${text.replaceAll("'", "'\\''")}'`);

/** One word for the shell. @param pieces texts, and variables by the names of what they hold */
function word(pieces) {
  let printed = "";
  let text = "";
  for (const piece of pieces) {
    if (typeof piece === "string") text += piece;
    else {
      printed += `${quoted(text)}"$${piece.secret.toUpperCase().replaceAll(/\W/g, "_")}"`;
      text = "";
    }
  }
  return printed + quoted(text) || "''";
}

const pair = (name, between, value) => [name + between, SECRET.test(name) ? { secret: name } : value];

function jsonPieces(text) {
  const pieces = [];
  let from = 0;
  for (const { 0: found, 1: before, 2: name, index } of text.matchAll(SECRET_MEMBER)) {
    pieces.push(`${text.slice(from, index)}${before}"`, { secret: name });
    from = index + found.length - 1;
  }
  return [...pieces, text.slice(from)];
}

/** What proves who sends a request, by security scheme. */
const PROOFS = {
  bearer: '-H "Authorization: Bearer $TOKEN"',
  clientBasic: '-u "$CLIENT_ID:$CLIENT_SECRET"',
  session: '-b "$SESSION_COOKIE"',
};

/**
 * @param url without its query  @param query, header, form: pairs of name and value  @param json the text of the body, if it is JSON
 * @param proof a security scheme, if the request has one
 */
export function curlCommand({ method, url, query, header, form, json, proof }) {
  const asked = query.flatMap(([name, value], index) => [index === 0 ? "?" : "&", ...pair(name, "=", encodeURIComponent(value))]);
  const isUsual = method === (form.length > 0 || json !== undefined ? "POST" : "GET");
  return [
    `curl ${isUsual ? "" : `-X ${method} `}${word([url, ...asked])}`,
    ...(proof === undefined ? [] : [PROOFS[proof]]),
    ...header.map(([name, value]) => `-H ${word(pair(name, ": ", value))}`),
    ...form.map(([name, value]) => `--data-urlencode ${word(pair(name, "=", value))}`),
    ...(json === undefined ? [] : ["-H 'Content-Type: application/json'", `--data-raw ${word(jsonPieces(json))}`]),
  ].join(" \\\n  ");
}
