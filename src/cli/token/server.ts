import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { DEVICE_CODE } from "../../protocol/grants.ts";
import { assertAnswers, CommandFailure, EXIT, postJson, request } from "../failure.ts";
import { readKept, replaceFile, withSessionLock } from "../kept-sessions.ts";
import { printable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

/** An address that may be handed to the system's browser: with another scheme it would open a file, or start a program. */
export const WebAddress = z.url({ protocol: /^https?$/ });

const Metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: WebAddress,
  token_endpoint: WebAddress,
  registration_endpoint: WebAddress.optional(),
  device_authorization_endpoint: WebAddress.optional(),
  pushed_authorization_request_endpoint: WebAddress.optional(),
  require_pushed_authorization_requests: z.boolean().optional(),
});
/** The members of an authorization server's metadata that commands read (RFC 8414 §2). */
export type Server = z.infer<typeof Metadata>;

export interface TokenRequest {
  readonly server: Server;
  readonly clientId: string;
  readonly scope: string | undefined;
  readonly resources: readonly string[];
}

/** A token is printed as it is, so it must be what one may consist of (RFC 6749 appendix A.12). */
const Tokens = z.looseObject({ access_token: z.string().regex(/^[\x20-\x7e]+$/), scope: z.string().optional().catch(undefined) });
export type Tokens = z.infer<typeof Tokens>;

const OAuthError = z.object({ error: z.string(), error_description: z.string().optional() });
export type OAuthError = z.infer<typeof OAuthError>;

/** The client is not known at the server, as after it was deleted for lack of use. */
export class UnknownClient extends CommandFailure {
  constructor(clientId: string) {
    super(EXIT.notFound, `The client ${printable(clientId)} does not exist there, or it is disabled.`);
  }
}

/** The parameters that every kind of request has. */
export const requestMembers = ({ clientId, scope, resources }: TokenRequest): string[][] => [
  ["client_id", clientId],
  ...(scope === undefined ? [] : [["scope", scope]]),
  ...resources.map((resource) => ["resource", resource]),
];

/** The authorization server at a URL. @throws {CommandFailure} where there is none, or another one */
export async function readServer(url: string): Promise<Server> {
  const { origin, pathname } = new URL(url);
  const issuer = url.replace(/\/$/, "");
  const answer = await request(`${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, "")}`);
  assertAnswers(answer);
  const read = Metadata.safeParse(await answer.json().catch(() => undefined));
  if (!answer.ok || !read.success || read.data.issuer !== issuer)
    throw new CommandFailure(EXIT.unreachable, `There is no authorization server at ${issuer}. Set COUNTERSIGN_URL to its issuer.`);
  return read.data;
}

/** Posts a form. @returns the parsed answer of 200, else the OAuth error  @throws {CommandFailure} for any other answer */
export async function postForm<Answer>(
  endpoint: string,
  members: readonly (readonly string[])[],
  schema: z.ZodType<Answer>,
): Promise<{ readonly answer: Answer } | OAuthError> {
  const response = await request(endpoint, { method: "POST", body: new URLSearchParams(members as string[][]) });
  const body: unknown = await response.json().catch(() => undefined);
  const answer = schema.safeParse(body);
  if (response.ok && answer.success) return { answer: answer.data };
  assertAnswers(response);
  const refused = OAuthError.safeParse(body);
  if (refused.success) return refused.data;
  throw new CommandFailure(EXIT.unreachable, `The server's answer cannot be read (status ${response.status}).`);
}

export const postForTokens = (server: Server, members: readonly (readonly string[])[]) => postForm(server.token_endpoint, members, Tokens);

export function failureOf({ error, error_description: description }: OAuthError, clientId: string): CommandFailure {
  if (error === "invalid_client") return new UnknownClient(clientId);
  if (error === "access_denied") return new CommandFailure(EXIT.notSignedIn, "The user denied the access.");
  const hint = error === "unauthorized_client" ? " Its grant types must have the one that this way of signing in uses." : "";
  const exitCode = error === "temporarily_unavailable" ? EXIT.unreachable : EXIT.failed;
  return new CommandFailure(exitCode, `${printable(error)}: ${printable(description ?? "The server gives no reason.")}${hint}`);
}

const Kept = z.record(z.string(), z.string());
const fileOf = ({ configDir }: Terminal): string => join(configDir, "clients.json");

/** The client_ids of this command line by issuer. */
const keptClients = (terminal: Terminal) => readKept(fileOf(terminal), Kept);

export const keptClient = ({ issuer }: Server, terminal: Terminal): string | undefined => keptClients(terminal)[issuer];

/** The redirect URI of the command line. The port is that of each command (RFC 8252 §7.3). */
export const CALLBACK = "/callback";

/**
 * The client_id of this command line, which registers itself unless another command has just done so.
 * @param unknown a client_id that the server does not know
 */
export const registeredClient = (server: Server, unknown: string | undefined, terminal: Terminal): Promise<string> =>
  withSessionLock(terminal, async () => {
    const kept = keptClient(server, terminal);
    if (kept !== undefined && kept !== unknown) return kept;
    const clientId = await register(server);
    replaceFile(fileOf(terminal), { ...keptClients(terminal), [server.issuer]: clientId });
    return clientId;
  });

/**
 * Registers this command line as a client of the server. It is public, has no refresh tokens, and gets the scopes that the server gives to
 * clients that register themselves, and those of resources that do.
 */
async function register(server: Server): Promise<string> {
  if (server.registration_endpoint === undefined)
    throw new CommandFailure(EXIT.failed, `${server.issuer} has no open registration. Name a public client with --client.`);
  const metadata = {
    client_name: "countersign command line",
    redirect_uris: [`http://127.0.0.1${CALLBACK}`],
    grant_types: ["authorization_code", ...(server.device_authorization_endpoint === undefined ? [] : [DEVICE_CODE])],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  const response = await postJson(server.registration_endpoint, metadata);
  assertAnswers(response);
  const read = z.object({ client_id: z.string() }).safeParse(await response.json().catch(() => undefined));
  if (!read.success)
    throw new CommandFailure(
      EXIT.failed,
      `${server.issuer} does not register this command line (status ${response.status}). Use --client.`,
    );
  return read.data.client_id;
}

/** Milliseconds that the command waits for the user. */
const PATIENCE = 10 * 60_000;

const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Countersign</title>
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<body style="font:1rem system-ui;margin:auto;padding:4rem 1rem;max-width:32rem"><h1>Done</h1><p>You can close this page and go back to the terminal.</p></body></html>`;

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
