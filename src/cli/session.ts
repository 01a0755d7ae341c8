import { type AdminClient, createAdminClient, type ManagementOutputs } from "@countersign/admin";
import { z } from "zod";
import { COMMAND_LINE_CLIENT_ID, FIRST_PARTY_CLIENT_ID, MANAGE_SERVER } from "../clients/client.ts";
import { isLoopbackHost } from "../protocol/access.ts";
import { assertAnswers, CommandFailure, EXIT, NO_COUNTERSIGN, postJson, request } from "./failure.ts";
import { assertStorable, forgetSession, type Kept, keepSession, keptSession, withSessionLock } from "./kept-sessions.ts";
import { actAs, type Terminal } from "./terminal.ts";

const CallTokens = z.object({ access_token: z.string(), expires_in: z.number() });
const TokenSet = CallTokens.extend({ refresh_token: z.string() });
type TokenSet = z.infer<typeof TokenSet>;
type Acting = { readonly email: string; readonly token: string };
type Credentials = { readonly email: string; readonly password: string };
type Account = ManagementOutputs["account"]["get"];

/** Seconds before its expiry from which an access token is no longer used. */
const MARGIN = 30;

/** The management API, as the user who runs the command. Its access token is renewed while the command runs. @throws {CommandFailure} */
export async function signedIn(terminal: Terminal): Promise<AdminClient> {
  const url = baseUrl(terminal);
  // Another command may sign in another user while this one runs.
  const { email } = await acting(url, terminal, terminal.server().email);
  // A call whose token cannot be renewed is not sent, so no failure of that may look like a lost answer.
  const token = () =>
    acting(url, terminal, email).then(
      (actor) => actor.token,
      async (error: unknown) => {
        const { asFailure } = await import("./as-failure.ts");
        throw asFailure(error, { server: url, email, named: [], takes: new Map() });
      },
    );
  return createAdminClient({ url, token });
}

/**
 * `countersign login`: signs in, with the password in the settings, else through a browser. An earlier session of the user here ends.
 * @param device a browser on another device  @throws {CommandFailure}
 */
export async function login(terminal: Terminal, device = false): Promise<Account> {
  const url = baseUrl(terminal);
  const credentials = givenCredentials(terminal);
  assertStorable(terminal);
  const kept = credentials === undefined ? await signInByBrowser(url, device, terminal) : await signIn(url, credentials, terminal);
  const account = await createAdminClient({ url, token: kept.accessToken }).account.get.query();
  const replaced = await withSessionLock(terminal, () => {
    const earlier = keptSession(url, account.email, terminal);
    keepSession(url, account.email, kept, terminal, "sign-in");
    return earlier?.kept;
  });
  if (replaced !== undefined) await endSession(url, replaced); // if that fails, it ends when it expires
  return account;
}

/** `countersign logout`: ends the session, here and at the server. @returns the user's e-mail address  @throws {CommandFailure} */
export async function logout(terminal: Terminal): Promise<string | undefined> {
  const url = baseUrl(terminal);
  const session = await withSessionLock(terminal, () => {
    const kept = keptSession(url, terminal.server().email, terminal);
    if (kept !== undefined) forgetSession(url, kept.email, terminal);
    return kept;
  });
  if (session === undefined) return undefined;
  if (!(await endSession(url, session.kept)))
    throw new CommandFailure(
      EXIT.unreachable,
      `Signed out on this machine, but the session at ${url} could not be ended. End it on the page ${url}account/security.`,
    );
  return session.email;
}

const Done = z.object({ success: z.literal(true) });
const Refused = z.object({ statusCode: z.number(), message: z.string() });

/** Ends a session at the server, with its tokens. Works with an expired access token. @returns whether it has ended */
async function endSession(url: string, { accessToken, cookie }: Pick<Kept, "accessToken" | "cookie">): Promise<boolean> {
  const headers = { authorization: `Bearer ${accessToken}`, ...(cookie !== undefined && { cookie }) };
  const answer = await request(new URL("auth/logout?everywhere=false", url), { method: "POST", headers }).catch(() => undefined);
  const body: unknown = await answer?.json().catch(() => undefined);
  // 401: the session has already ended.
  return answer?.ok ? Done.safeParse(body).success : answer?.status === 401 && Refused.safeParse(body).success;
}

/** `countersign whoami`: the user as whom commands act, as the server knows them. @throws {CommandFailure} */
export const whoAmI = async (terminal: Terminal): Promise<Account> => (await signedIn(terminal)).account.get.query();

/** The URL of the server, with a slash at the end. @throws {CommandFailure} for plain http to another machine */
export function baseUrl(terminal: Terminal): string {
  const { serverUrl } = terminal.server();
  const url = serverUrl.endsWith("/") ? serverUrl : `${serverUrl}/`;
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:" || isLoopbackHost(hostname)) return url;
  throw new CommandFailure(EXIT.failed, "COUNTERSIGN_URL must be https, because passwords and tokens are sent to and from it.");
}

/** E-mail address and password of the settings, if there is a password. @throws {CommandFailure} for a password without an address */
function givenCredentials(terminal: Terminal): Credentials | undefined {
  const { email, password } = terminal.server();
  if (password === undefined) return undefined;
  if (email === undefined) throw new CommandFailure(EXIT.notSignedIn, "COUNTERSIGN_PASSWORD is set: set COUNTERSIGN_EMAIL too.");
  return { email, password };
}

/** An access token: of a sign-in for this command, if e-mail address and password are set, else of the kept session. */
async function acting(url: string, terminal: Terminal, asked: string | undefined): Promise<Acting> {
  const credentials = givenCredentials(terminal);
  const actor = credentials === undefined ? await keptAccess(url, terminal, asked) : await signInForCommand(url, credentials, terminal);
  actAs(terminal, actor.email);
  return actor;
}

/** The access token of the kept session, renewed under the lock if it has to be. @throws {CommandFailure} without a session */
async function keptAccess(url: string, terminal: Terminal, asked: string | undefined, isLocked = false): Promise<Acting> {
  const session = keptSession(url, asked, terminal);
  if (session === undefined)
    throw notSignedIn(asked === undefined ? `No user is signed in at ${url}.` : `${asked} is not signed in at ${url}.`);
  const { email, kept } = session;
  if (kept.expiresAt - MARGIN > terminal.clock()) return { email, token: kept.accessToken };
  if (!isLocked) return withSessionLock(terminal, () => keptAccess(url, terminal, asked, true)); // another command may have renewed it
  const refreshed = await refresh(url, kept);
  if (refreshed === undefined) throw notSignedIn(`The session of ${email} at ${url} has ended.`);
  keepSession(url, email, { ...kept, ...asKept(refreshed, terminal) }, terminal, "renewal");
  return { email, token: refreshed.access_token };
}

const notSignedIn = (what: string): CommandFailure =>
  new CommandFailure(
    EXIT.notSignedIn,
    `${what} Run \`countersign login\`, or in a script set COUNTERSIGN_EMAIL and COUNTERSIGN_PASSWORD. COUNTERSIGN_URL names the server.`,
  );

type CallToken = Pick<Kept, "accessToken" | "expiresAt"> & { readonly credentials: Credentials };

const forCommand = new WeakMap<Terminal, CallToken>();

/** Signs in once for each lifetime of an access token. There is no session that must end with the command. */
async function signInForCommand(url: string, credentials: Credentials, terminal: Terminal): Promise<Acting> {
  const { email } = credentials;
  const known = forCommand.get(terminal);
  const isSame = known?.credentials.email === email && known.credentials.password === credentials.password;
  if (isSame && known.expiresAt - MARGIN > terminal.clock()) return { email, token: known.accessToken };
  const { access_token: token, expires_in } = await answered(
    await postCredentials(url, "auth/login?session=false", credentials),
    CallTokens,
  );
  forCommand.set(terminal, { credentials, accessToken: token, expiresAt: terminal.clock() + expires_in });
  return { email, token };
}

const asKept = ({ access_token, refresh_token, expires_in }: TokenSet, { clock }: Terminal): Kept => ({
  accessToken: access_token,
  refreshToken: refresh_token,
  expiresAt: clock() + expires_in,
});

const OAuthError = z.object({ error: z.string() });

/** @returns undefined for an invalid refresh token */
async function refresh(url: string, { refreshToken, clientId = FIRST_PARTY_CLIENT_ID }: Kept): Promise<TokenSet | undefined> {
  const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: clientId });
  const answer = await request(new URL("oauth/token", url), { method: "POST", body });
  if (answer.status !== 400 && answer.status !== 401) return answered(answer, TokenSet);
  await bodyOf(answer, OAuthError); // else it is not the server that refuses the token
  return undefined;
}

/** What the command line asks a user for: all that the user may do at the server itself. */
const SCOPE = `openid email ${MANAGE_SERVER}`;

async function signInByBrowser(url: string, device: boolean, terminal: Terminal): Promise<Kept> {
  const { readServer } = await import("./token/server.ts");
  const obtain = device ? (await import("./token/device.ts")).tokensByDevice : (await import("./token/server.ts")).tokensByBrowser;
  const server = await readServer(url);
  const request = { server, clientId: COMMAND_LINE_CLIENT_ID, scope: SCOPE, resources: [server.issuer] };
  return { clientId: COMMAND_LINE_CLIENT_ID, ...asKept(valid(await obtain(request, terminal), TokenSet), terminal) };
}

/** Why a password does not suffice, from the server's answer. */
function refusalText({ statusCode, message }: z.infer<typeof Refused>): string {
  if (message.includes("authenticator app"))
    return "This account has a second factor: unset COUNTERSIGN_PASSWORD, and run `countersign login`.";
  return statusCode === 403 || message.includes("Sign in again") ? message : "Wrong e-mail address or password.";
}

/** The answer to the right credentials, or to a server error. @throws {CommandFailure} for wrong ones */
async function postCredentials(url: string, path: string, credentials: Credentials): Promise<Response> {
  const answer = await postJson(new URL(path, url), credentials);
  const wait = Math.ceil(Number(answer.headers.get("retry-after")) / 60) * 60;
  if (answer.status === 429 && wait > 0) {
    const { shownDuration } = await import("../texts/languages.ts");
    const message = `The server takes no further sign-in for now. Try again in ${shownDuration("en", wait)}.`;
    throw new CommandFailure(EXIT.unreachable, message);
  }
  if (answer.status !== 400 && answer.status !== 401 && answer.status !== 403) return answer;
  throw new CommandFailure(EXIT.notSignedIn, refusalText(await bodyOf(answer, Refused)));
}

async function signIn(url: string, credentials: Credentials, terminal: Terminal): Promise<Kept> {
  const answer = await postCredentials(url, "auth/login", credentials);
  const cookie = answer.headers.getSetCookie().flatMap((each) => /^(?:__Host-)?countersign=[\w-]+/.exec(each)?.[0] ?? [])[0];
  return { ...(cookie !== undefined && { cookie }), ...asKept(await answered(answer, TokenSet), terminal) };
}

/** The parsed response of a Countersign. @throws {CommandFailure} for a server that may answer later, and for any other server */
async function answered<Answer>(answer: Response, schema: z.ZodType<Answer>): Promise<Answer> {
  assertAnswers(answer);
  if (!answer.ok) throw new CommandFailure(EXIT.unreachable, NO_COUNTERSIGN);
  return bodyOf(answer, schema);
}

/** @throws {CommandFailure} for a body that is not of a Countersign, such as a page of a proxy */
const bodyOf = async <Body>(answer: Response, schema: z.ZodType<Body>): Promise<Body> =>
  valid(await answer.json().catch(() => undefined), schema);

/** @throws {CommandFailure} for what does not come from a Countersign, such as tokens without a refresh token */
function valid<Value>(value: unknown, schema: z.ZodType<Value>): Value {
  const read = schema.safeParse(value);
  if (!read.success) throw new CommandFailure(EXIT.unreachable, NO_COUNTERSIGN);
  return read.data;
}
