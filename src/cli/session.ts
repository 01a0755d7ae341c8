import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AdminClient, createAdminClient } from "@countersign/admin";
import { z } from "zod";
import { FIRST_PARTY_CLIENT_ID } from "../clients/client.ts";
import { isLoopbackHost } from "../protocol/access.ts";
import { CommandFailure, EXIT, NO_COUNTERSIGN } from "./failure.ts";
import { actAs, atEnd, type Terminal } from "./terminal.ts";

const TokenSet = z.object({ access_token: z.string(), refresh_token: z.string(), expires_in: z.number() });
type TokenSet = z.infer<typeof TokenSet>;
/** An access token and its user. */
type Acting = { readonly email: string; readonly token: string };
/** `cookie` is the one of the session of these tokens. */
type SignedIn = { readonly email: string; readonly tokens: TokenSet; readonly cookie: string | undefined };
const UserInfo = z.object({ sub: z.string() });

/** Seconds before its expiry from which an access token is no longer used. */
const MARGIN = 30;

/** The management API, as the user who runs the command. @throws {CommandFailure} */
export async function signedIn(terminal: Terminal): Promise<AdminClient> {
  const url = baseUrl(terminal);
  return createAdminClient({ url, token: (await acting(url, terminal)).token });
}

/** `countersign login`: signs in, even if there is a session. @returns the e-mail address  @throws {CommandFailure} */
export async function login(terminal: Terminal): Promise<string> {
  const url = baseUrl(terminal);
  const { email, tokens, cookie } = await signIn(url, terminal.server().email, terminal);
  keepSession(url, email, asKept(tokens, cookie, terminal), terminal);
  return email;
}

/** `countersign logout`: ends the session, here and at the server. @returns the user's e-mail address  @throws {CommandFailure} */
export async function logout(terminal: Terminal): Promise<string | undefined> {
  const url = baseUrl(terminal);
  const session = keptSession(url, terminal.server().email, terminal);
  if (session === undefined) return undefined;
  forgetSession(url, session.email, terminal);
  if (!(await endSession(url, session.kept)))
    throw new CommandFailure(
      EXIT.unreachable,
      `Signed out on this machine, but the session at ${url} could not be ended. End it on the page ${url}account/security.`,
    );
  return session.email;
}

/** Ends a session at the server, with its tokens. Works with an expired access token. @returns whether it has ended */
async function endSession(url: string, { accessToken, cookie }: Pick<Kept, "accessToken" | "cookie">): Promise<boolean> {
  if (cookie === undefined) return false;
  const headers = { authorization: `Bearer ${accessToken}`, cookie };
  const answer = await fetch(new URL("auth/logout?everywhere=false", url), { method: "POST", headers, redirect: "error" }).catch(
    () => undefined,
  );
  await answer?.body?.cancel();
  // 401: the session has already ended.
  return answer !== undefined && (answer.ok || answer.status === 401);
}

/** `countersign whoami`: the user as whom commands act, as the server knows them. @throws {CommandFailure} */
export async function whoAmI(terminal: Terminal): Promise<{ readonly id: string; readonly email: string; readonly server: string }> {
  const url = baseUrl(terminal);
  const { email, token } = await acting(url, terminal);
  const authorization = `Bearer ${token}`;
  const answer = await fetch(new URL("oauth/userinfo", url), { headers: { authorization }, redirect: "error" });
  if (answer.status === 401) throw new CommandFailure(EXIT.notSignedIn, "The session has ended. Sign in with `countersign login`.");
  const { sub } = await answered(answer, UserInfo);
  return { id: sub, email, server: url };
}

/** The URL of the server, with a slash at the end. @throws {CommandFailure} for plain http to another machine */
export function baseUrl(terminal: Terminal): string {
  const { serverUrl } = terminal.server();
  const url = serverUrl.endsWith("/") ? serverUrl : `${serverUrl}/`;
  assertConfidential(new URL(url));
  return url;
}

/** Passwords and tokens are never sent over a network in clear text. */
function assertConfidential({ protocol, hostname }: URL): void {
  if (protocol !== "https:" && !isLoopbackHost(hostname)) {
    throw new CommandFailure(EXIT.failed, "COUNTERSIGN_URL must be https, because passwords and tokens are sent to and from it.");
  }
}

/** An access token: of a sign-in for this command, if e-mail address and password are set, else of the kept session or a new one. */
async function acting(url: string, terminal: Terminal): Promise<Acting> {
  const signedIn = await accessTokenFor(url, terminal);
  actAs(terminal, signedIn.email);
  return signedIn;
}

async function accessTokenFor(url: string, terminal: Terminal): Promise<Acting> {
  const { email, password } = terminal.server();
  if (email !== undefined && password !== undefined) return signInForCommand(url, email, terminal);
  const session = password === undefined ? keptSession(url, email, terminal) : undefined;
  if (session !== undefined && session.kept.expiresAt - MARGIN > terminal.clock())
    return { email: session.email, token: session.kept.accessToken };
  const refreshed = session && (await refresh(url, session.kept.refreshToken));
  const fresh =
    session !== undefined && refreshed !== undefined
      ? { email: session.email, tokens: refreshed, cookie: session.kept.cookie }
      : await signIn(url, email ?? session?.email, terminal);
  keepSession(url, fresh.email, asKept(fresh.tokens, fresh.cookie, terminal), terminal);
  return { email: fresh.email, token: fresh.tokens.access_token };
}

/** Sign-ins that last for one command, by its terminal. */
const forCommand = new WeakMap<Terminal, Kept>();

/** Signs in once for each lifetime of an access token, and ends the session with the command. */
async function signInForCommand(url: string, email: string, terminal: Terminal): Promise<Acting> {
  const known = forCommand.get(terminal);
  if (known !== undefined && known.expiresAt - MARGIN > terminal.clock()) return { email, token: known.accessToken };
  const { tokens, cookie } = await signIn(url, email, terminal);
  const kept = asKept(tokens, cookie, terminal);
  forCommand.set(terminal, kept);
  atEnd(terminal, async () => {
    forCommand.delete(terminal);
    await endSession(url, kept);
  });
  return { email, token: kept.accessToken };
}

const asKept = (tokens: TokenSet, cookie: string | undefined, { clock }: Terminal): Kept => ({
  ...(cookie !== undefined && { cookie }),
  accessToken: tokens.access_token,
  refreshToken: tokens.refresh_token,
  expiresAt: clock() + tokens.expires_in,
});

/** @returns undefined for an invalid refresh token */
async function refresh(url: string, refreshToken: string): Promise<TokenSet | undefined> {
  const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: FIRST_PARTY_CLIENT_ID });
  const answer = await fetch(new URL("oauth/token", url), { method: "POST", body, redirect: "error" });
  if (answer.status === 400 || answer.status === 401) return undefined;
  return answered(answer, TokenSet);
}

async function signIn(url: string, knownEmail: string | undefined, terminal: Terminal): Promise<SignedIn> {
  const email = knownEmail ?? (await terminal.ask("E-mail: "));
  const password =
    terminal.server().password ?? (await terminal.ask(knownEmail === undefined ? "Password: " : `Password of ${knownEmail}: `, true));
  const answer = await fetch(new URL("auth/login", url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
    redirect: "error",
  });
  if (answer.status === 429) throw new CommandFailure(EXIT.notSignedIn, "Too many failed attempts. Wait a while before you try again.");
  if (answer.status === 400 || answer.status === 401 || answer.status === 403)
    throw new CommandFailure(EXIT.notSignedIn, "Wrong e-mail address or password.");
  const cookie = answer.headers.getSetCookie().flatMap((each) => /^(?:__Host-)?countersign=[\w-]+/.exec(each)?.[0] ?? [])[0];
  return { email, tokens: await answered(answer, TokenSet), cookie };
}

/** The parsed response of a Countersign. @throws {CommandFailure} for a server error, and for any other server */
async function answered<Answer>(answer: Response, schema: z.ZodType<Answer>): Promise<Answer> {
  if (answer.status >= 500) throw new CommandFailure(EXIT.unreachable, "The server cannot answer right now. Try again later.");
  const read = schema.safeParse(await answer.json().catch(() => undefined));
  if (!answer.ok || !read.success) throw new CommandFailure(EXIT.unreachable, NO_COUNTERSIGN);
  return read.data;
}

const Kept = z.object({ accessToken: z.string(), refreshToken: z.string(), expiresAt: z.number(), cookie: z.string().optional() });
/** The tokens of a sign-in; `expiresAt` in seconds since the epoch. `cookie` ends the session; earlier releases did not keep it. */
type Kept = z.infer<typeof Kept>;

const OfServer = z.object({
  /** The user as whom commands act that name no user. */
  current: z.string().nullable(),
  users: z.record(z.string(), Kept),
});
const ByServer = z.record(z.string(), OfServer);

const fileOf = ({ configDir }: Terminal): string => join(configDir, "sessions.json");

/** A user has one session, however they write the address. */
const key = (email: string): string => email.trim().toLowerCase();

/** An unreadable file counts as empty: the user signs in again. */
function readSessions(terminal: Terminal): z.infer<typeof ByServer> {
  try {
    return ByServer.parse(JSON.parse(readFileSync(fileOf(terminal), "utf8")));
  } catch {
    return {};
  }
}

/** Readable by this user alone. Replaces the file as a whole, so that an interrupted command leaves the old one. */
function writeSessions(sessions: z.infer<typeof ByServer>, terminal: Terminal): void {
  mkdirSync(terminal.configDir, { recursive: true, mode: 0o700 });
  const file = fileOf(terminal);
  const next = `${file}.${process.pid}`;
  writeFileSync(next, JSON.stringify(sessions), { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, file);
}

/** The session of a user at a server. Without an e-mail address: of the user who signed in there last. */
function keptSession(url: string, email: string | undefined, terminal: Terminal): { email: string; kept: Kept } | undefined {
  const server = readSessions(terminal)[url];
  const who = email === undefined ? server?.current : key(email);
  const kept = who == null ? undefined : server?.users[who];
  return who == null || kept === undefined ? undefined : { email: who, kept };
}

/** Stores a session, and makes its user the one as whom commands act. */
function keepSession(url: string, email: string, session: Kept, terminal: Terminal): void {
  const sessions = readSessions(terminal);
  writeSessions({ ...sessions, [url]: { current: key(email), users: { ...sessions[url]?.users, [key(email)]: session } } }, terminal);
}

function forgetSession(url: string, email: string, terminal: Terminal): void {
  const sessions = readSessions(terminal);
  const { [key(email)]: _forgotten, ...users } = sessions[url]?.users ?? {};
  const current = sessions[url]?.current ?? null;
  writeSessions({ ...sessions, [url]: { current: current === key(email) ? null : current, users } }, terminal);
}
