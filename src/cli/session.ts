import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AdminClient, createAdminClient } from "@countersign/admin";
import { z } from "zod";
import { FIRST_PARTY_CLIENT_ID } from "../clients/client.ts";
import { isLoopbackHost } from "../protocol/resource.ts";
import { CommandFailure, EXIT } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

const Kept = z.object({ accessToken: z.string(), refreshToken: z.string(), expiresAt: z.number() });
type Kept = z.infer<typeof Kept>;
const KeptByServer = z.record(z.string(), Kept);

const TokenSet = z.object({ access_token: z.string(), refresh_token: z.string(), expires_in: z.number() });

/** Seconds before its end at which an access token is not used any more. */
const MARGIN = 30;

/** The management API as the person who runs the command. @throws {CommandFailure} */
export async function signedIn(terminal: Terminal): Promise<AdminClient> {
  const { serverUrl } = terminal.server();
  const url = serverUrl.endsWith("/") ? serverUrl : `${serverUrl}/`;
  assertConfidential(new URL(url));
  return createAdminClient({ url, token: await accessToken(url, terminal) });
}

/** A password and what it opens go over no network in the clear. */
function assertConfidential({ protocol, hostname }: URL): void {
  if (protocol !== "https:" && !isLoopbackHost(hostname)) {
    throw new CommandFailure(EXIT.failed, "COUNTERSIGN_URL must be https, for a password is sent to it.");
  }
}

/** The token kept from the last command, a refreshed one, or one of a new sign-in. */
async function accessToken(url: string, terminal: Terminal): Promise<string> {
  const kept = readKept(terminal)[url];
  if (kept !== undefined && kept.expiresAt - MARGIN > terminal.clock()) return kept.accessToken;
  const refreshed = kept && (await refresh(url, kept.refreshToken));
  const tokens = refreshed ?? (await signIn(url, terminal));
  keep(
    url,
    { accessToken: tokens.access_token, refreshToken: tokens.refresh_token, expiresAt: terminal.clock() + tokens.expires_in },
    terminal,
  );
  return tokens.access_token;
}

/** @returns undefined when the refresh token is good no more */
async function refresh(url: string, refreshToken: string): Promise<z.infer<typeof TokenSet> | undefined> {
  const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: FIRST_PARTY_CLIENT_ID });
  const answer = await fetch(new URL("oauth/token", url), { method: "POST", body, redirect: "error" });
  if (answer.status >= 500) throw new CommandFailure(EXIT.unreachable, "The server cannot answer now.");
  return answer.ok ? TokenSet.parse(await answer.json()) : undefined;
}

async function signIn(url: string, terminal: Terminal): Promise<z.infer<typeof TokenSet>> {
  const known = terminal.server();
  const email = known.email ?? (await terminal.ask("E-mail: "));
  const password = known.password ?? (await terminal.ask("Password: ", true));
  const answer = await fetch(new URL("auth/login", url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
    redirect: "error",
  });
  if (answer.ok) return TokenSet.parse(await answer.json());
  await answer.body?.cancel();
  if (answer.status === 429) throw new CommandFailure(EXIT.notSignedIn, "Too many failed attempts. Wait a while before you try again.");
  if (answer.status >= 500) throw new CommandFailure(EXIT.unreachable, "The server cannot answer now.");
  throw new CommandFailure(EXIT.notSignedIn, "Wrong e-mail address or password.");
}

const fileOf = ({ configDir }: Terminal): string => join(configDir, "sessions.json");

/** What cannot be read counts as nothing: the person signs in again. */
function readKept(terminal: Terminal): Record<string, Kept> {
  try {
    return KeptByServer.parse(JSON.parse(readFileSync(fileOf(terminal), "utf8")));
  } catch {
    return {};
  }
}

/** For the person's own eyes; put in place as a whole, so that a command that is cut short leaves what was there. */
function keep(url: string, session: Kept, terminal: Terminal): void {
  mkdirSync(terminal.configDir, { recursive: true, mode: 0o700 });
  const file = fileOf(terminal);
  const next = `${file}.${process.pid}`;
  writeFileSync(next, JSON.stringify({ ...readKept(terminal), [url]: session }), { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, file);
}
