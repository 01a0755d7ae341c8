import { join } from "node:path";
import { z } from "zod";
import { DEVICE_CODE } from "../../protocol/grants.ts";
import { assertAnswers, CommandFailure, EXIT, request } from "../failure.ts";
import { readKept, replaceFile, withSessionLock } from "../kept-sessions.ts";
import { printable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const Metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  registration_endpoint: z.url().optional(),
  device_authorization_endpoint: z.url().optional(),
  pushed_authorization_request_endpoint: z.url().optional(),
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

const Tokens = z.looseObject({ access_token: z.string() });
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
  const response = await request(server.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(metadata),
  });
  assertAnswers(response);
  const read = z.object({ client_id: z.string() }).safeParse(await response.json().catch(() => undefined));
  if (!read.success)
    throw new CommandFailure(
      EXIT.failed,
      `${server.issuer} does not register this command line (status ${response.status}). Use --client.`,
    );
  return read.data.client_id;
}
