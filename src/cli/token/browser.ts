import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { CommandFailure, EXIT, request } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { CALLBACK, failureOf, type OAuthError, postForm, postForTokens, requestMembers, type TokenRequest, type Tokens } from "./server.ts";

/** Milliseconds that the command waits for the user. */
const PATIENCE = 10 * 60_000;

const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Countersign</title><link rel="icon" href="data:,">
<body style="font:1rem system-ui;margin:4rem auto;max-width:32rem"><h1>Done</h1><p>You can close this page and go back to the terminal.</p></body></html>`;

/** Listens on loopback for the browser to come back with `state`. Every other request is 404. */
async function listenForCallback(state: string) {
  const callback = Promise.withResolvers<URLSearchParams>();
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? "/", "http://127.0.0.1"); // null for a target such as `//`, which must not end the command
    const isCallback = url?.pathname === CALLBACK && url.searchParams.get("state") === state;
    response.writeHead(isCallback ? 200 : 404, { "content-type": "text/html; charset=utf-8", "referrer-policy": "no-referrer" });
    response.end(isCallback ? PAGE : "", () => isCallback && callback.resolve(url.searchParams));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const late = setTimeout(() => callback.reject(new CommandFailure(EXIT.notSignedIn, "There was no sign-in within 10 minutes.")), PATIENCE);
  callback.promise.catch(() => undefined); // awaited only after the request was checked
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${CALLBACK}`,
    parameters: callback.promise,
    close() {
      clearTimeout(late);
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What an answer to `prompt=none` says about a request that only needs its user. */
const NEEDS_USER = ["login_required", "consent_required", "interaction_required", "account_selection_required"];

/** Sends the request once without a user, so that its faults appear here and not in the browser. @returns why the server refuses it */
async function refusalOf(url: URL): Promise<OAuthError | undefined> {
  const silent = new URL(url);
  silent.searchParams.set("prompt", "none");
  const response = await request(silent, { headers: { accept: "application/json" }, redirect: "manual" });
  const location = response.headers.get("location");
  if (response.status === 400) {
    const refused = (await response.json().catch(() => ({}))) as { readonly error?: string; readonly error_description?: string };
    return { error: "invalid_request", ...refused };
  }
  await response.body?.cancel();
  const parameters = location === null ? undefined : new URL(location, url).searchParams;
  const [error, description] = [parameters?.get("error"), parameters?.get("error_description")];
  if (error == null || NEEDS_USER.includes(error)) return undefined;
  return { error, ...(description != null && { error_description: description }) };
}

const Pushed = z.object({ request_uri: z.string() });

/**
 * The address to open: of the request itself, which works in any browser and for as long as the command waits, or of the pushed one where
 * server or client demand that. @throws {CommandFailure}
 */
async function addressOf({ server, clientId }: TokenRequest, members: readonly (readonly string[])[]): Promise<URL> {
  const url = new URL(server.authorization_endpoint);
  const endpoint = server.pushed_authorization_request_endpoint;
  if (endpoint === undefined || server.require_pushed_authorization_requests !== true) {
    const whole = new URL(url);
    for (const [name = "", value = ""] of members) whole.searchParams.append(name, value);
    const refused = await refusalOf(whole);
    if (refused === undefined) return whole;
    // What a client demands is in no metadata: its request is refused with invalid_request.
    if (endpoint === undefined || refused.error !== "invalid_request") throw failureOf(refused, clientId);
  }
  const pushed = await postForm(endpoint, members, Pushed);
  if ("error" in pushed) throw failureOf(pushed, clientId);
  url.searchParams.append("client_id", clientId);
  url.searchParams.append("request_uri", pushed.answer.request_uri);
  return url;
}

/**
 * Signs the user in through the browser, and gets tokens by authorization code with PKCE.
 * @throws {CommandFailure}, {UnknownClient}
 * @see RFC 8252 §7.3, RFC 9207
 */
export async function tokensByBrowser(request: TokenRequest, terminal: Terminal): Promise<Tokens> {
  const { server, clientId } = request;
  const [state, verifier] = [randomBytes(16).toString("base64url"), randomBytes(32).toString("base64url")];
  const callback = await listenForCallback(state);
  try {
    const members = [
      ["response_type", "code"],
      ...requestMembers(request),
      ["redirect_uri", callback.redirectUri],
      ["state", state],
      ["code_challenge", createHash("sha256").update(verifier).digest("base64url")],
      ["code_challenge_method", "S256"],
    ];
    const url = await addressOf(request, members);
    terminal.complain(`Sign in with your browser. Without one on this machine, stop this and use --device.\n\n${url}\n`);
    terminal.open(url.href);
    const code = codeOf(await callback.parameters, request);
    const exchange = [
      ["grant_type", "authorization_code"],
      ["client_id", clientId],
      ["code", code],
      ["redirect_uri", callback.redirectUri],
      ["code_verifier", verifier],
    ];
    const result = await postForTokens(server, exchange);
    if ("error" in result) throw failureOf(result, clientId);
    return result.answer;
  } finally {
    callback.close();
  }
}

/** The code of an authorization response. @throws {CommandFailure} for an error, and for the response of another server */
function codeOf(parameters: URLSearchParams, { server, clientId }: TokenRequest): string {
  const [iss, error, code] = [parameters.get("iss"), parameters.get("error"), parameters.get("code")];
  if (iss !== null && iss !== server.issuer)
    throw new CommandFailure(EXIT.failed, "The browser came back from another server than the one that was asked.");
  if (error !== null) throw failureOf({ error, error_description: parameters.get("error_description") ?? undefined }, clientId);
  if (code === null) throw new CommandFailure(EXIT.failed, "The browser came back without a code.");
  return code;
}
