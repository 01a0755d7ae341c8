import { type AdminClient, createAdminClient } from "@countersign/admin";
import { z } from "zod";
import { FIRST_PARTY_CLIENT_ID } from "../clients/client.ts";
import { isLoopbackHost } from "../protocol/resource.ts";
import { CommandFailure, EXIT, NO_COUNTERSIGN } from "./failure.ts";
import { forgetSession, type Kept, keepSession, keptSession } from "./kept-sessions.ts";
import { atEnd, type Terminal } from "./terminal.ts";

const TokenSet = z.object({ access_token: z.string(), refresh_token: z.string(), expires_in: z.number() });
type TokenSet = z.infer<typeof TokenSet>;
/** A token and the person that it was given to. */
interface Acting {
  readonly email: string;
  readonly token: string;
}
interface SignedIn {
  readonly email: string;
  readonly tokens: TokenSet;
  /** Of the session that the tokens belong to. */
  readonly cookie: string | undefined;
}
const Person = z.object({ sub: z.string() });

/** Seconds before its end at which an access token is not used any more. */
const MARGIN = 30;

/** The management API as the person who runs the command. @throws {CommandFailure} */
export async function signedIn(terminal: Terminal): Promise<AdminClient> {
  const url = baseUrl(terminal);
  return createAdminClient({ url, token: (await acting(url, terminal)).token });
}

/** `countersign login`: signs in anew, whatever is kept. @returns the e-mail address  @throws {CommandFailure} */
export async function login(terminal: Terminal): Promise<string> {
  const url = baseUrl(terminal);
  const { email, tokens, cookie } = await signIn(url, terminal.server().email, terminal);
  keepSession(url, email, asKept(tokens, cookie, terminal), terminal);
  return email;
}

/** `countersign logout`: ends what is kept, here and at the server. @returns whose session it was  @throws {CommandFailure} */
export async function logout(terminal: Terminal): Promise<string | undefined> {
  const url = baseUrl(terminal);
  const session = keptSession(url, terminal.server().email, terminal);
  if (session === undefined) return undefined;
  forgetSession(url, session.email, terminal);
  if (!(await ended(url, session.kept)))
    throw new CommandFailure(
      EXIT.unreachable,
      "Signed out here; the server could not be told. The session can be ended under /account/security.",
    );
  return session.email;
}

/** Ends one session at the server, with its tokens; an access token that has expired is good enough. @returns whether it did */
async function ended(url: string, { accessToken, cookie }: Pick<Kept, "accessToken" | "cookie">): Promise<boolean> {
  if (cookie === undefined) return false;
  const headers = { authorization: `Bearer ${accessToken}`, cookie };
  const answer = await fetch(new URL("auth/logout?everywhere=false", url), { method: "POST", headers, redirect: "error" }).catch(
    () => undefined,
  );
  await answer?.body?.cancel();
  // Whoever has been signed out meanwhile is refused, and has nothing left to end.
  return answer !== undefined && (answer.ok || answer.status === 401);
}

/** `countersign whoami`: whom commands act as, as the server knows her. @throws {CommandFailure} */
export async function whoAmI(terminal: Terminal): Promise<{ readonly id: string; readonly email: string; readonly server: string }> {
  const url = baseUrl(terminal);
  const { email, token } = await acting(url, terminal);
  const authorization = `Bearer ${token}`;
  const answer = await fetch(new URL("oauth/userinfo", url), { headers: { authorization }, redirect: "error" });
  if (answer.status === 401) throw new CommandFailure(EXIT.notSignedIn, "The session has ended. Sign in with `countersign login`.");
  const { sub } = await answered(answer, Person);
  return { id: sub, email, server: url };
}

function baseUrl(terminal: Terminal): string {
  const { serverUrl } = terminal.server();
  const url = serverUrl.endsWith("/") ? serverUrl : `${serverUrl}/`;
  assertConfidential(new URL(url));
  return url;
}

/** A password and what it opens go over no network in the clear. */
function assertConfidential({ protocol, hostname }: URL): void {
  if (protocol !== "https:" && !isLoopbackHost(hostname)) {
    throw new CommandFailure(EXIT.failed, "COUNTERSIGN_URL must be https, for a password is sent to it.");
  }
}

/**
 * A token of the person that is meant. Whoever gives e-mail and password is signed in as that person until the command ends; else it is a
 * token kept from before, a refreshed one, or one of a new sign-in.
 */
async function acting(url: string, terminal: Terminal): Promise<Acting> {
  const { email, password } = terminal.server();
  if (email !== undefined && password !== undefined) return passing(url, email, terminal);
  const session = password === undefined ? keptSession(url, email, terminal) : undefined;
  if (session !== undefined && session.kept.expiresAt - MARGIN > terminal.clock())
    return { email: session.email, token: session.kept.accessToken };
  const refreshed = session && (await refresh(url, session.kept.refreshToken));
  const signed =
    session !== undefined && refreshed !== undefined
      ? { email: session.email, tokens: refreshed, cookie: session.kept.cookie }
      : await signIn(url, email ?? session?.email, terminal);
  keepSession(url, signed.email, asKept(signed.tokens, signed.cookie, terminal), terminal);
  return { email: signed.email, token: signed.tokens.access_token };
}

/** Sign-ins that last for a command, by its terminal. */
const inPassing = new WeakMap<Terminal, Kept>();

/** Signs in for as long as the command runs, once for each life of an access token, and ends the session with the command. */
async function passing(url: string, email: string, terminal: Terminal): Promise<Acting> {
  const known = inPassing.get(terminal);
  if (known !== undefined && known.expiresAt - MARGIN > terminal.clock()) return { email, token: known.accessToken };
  const { tokens, cookie } = await signIn(url, email, terminal);
  const kept = asKept(tokens, cookie, terminal);
  inPassing.set(terminal, kept);
  atEnd(terminal, async () => {
    inPassing.delete(terminal);
    await ended(url, kept);
  });
  return { email, token: kept.accessToken };
}

const asKept = (tokens: TokenSet, cookie: string | undefined, { clock }: Terminal): Kept => ({
  ...(cookie !== undefined && { cookie }),
  accessToken: tokens.access_token,
  refreshToken: tokens.refresh_token,
  expiresAt: clock() + tokens.expires_in,
});

/** @returns undefined when the refresh token is good no more */
async function refresh(url: string, refreshToken: string): Promise<TokenSet | undefined> {
  const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: FIRST_PARTY_CLIENT_ID });
  const answer = await fetch(new URL("oauth/token", url), { method: "POST", body, redirect: "error" });
  if (answer.status === 400 || answer.status === 401) return undefined;
  return answered(answer, TokenSet);
}

async function signIn(url: string, known: string | undefined, terminal: Terminal): Promise<SignedIn> {
  const email = known ?? (await terminal.ask("E-mail: "));
  const password = terminal.server().password ?? (await terminal.ask(known === undefined ? "Password: " : `Password of ${known}: `, true));
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

/** The answer of a Countersign; what says anything else is none, or one that cannot answer now. @throws {CommandFailure} */
async function answered<Answer>(answer: Response, schema: z.ZodType<Answer>): Promise<Answer> {
  if (answer.status >= 500) throw new CommandFailure(EXIT.unreachable, "The server cannot answer now.");
  const read = schema.safeParse(await answer.json().catch(() => undefined));
  if (!answer.ok || !read.success) throw new CommandFailure(EXIT.unreachable, NO_COUNTERSIGN);
  return read.data;
}
