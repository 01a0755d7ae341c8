import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Terminal } from "./terminal.ts";

const Kept = z.object({ accessToken: z.string(), refreshToken: z.string(), expiresAt: z.number(), cookie: z.string().optional() });
/**
 * What a sign-in left behind; `expiresAt` in seconds since the epoch. `cookie` is that of the session, by which it can be ended; earlier
 * releases kept none.
 */
export type Kept = z.infer<typeof Kept>;

const OfServer = z.object({
  /** The person as whom commands act that name nobody. */
  current: z.string().nullable(),
  people: z.record(z.string(), Kept),
});
const ByServer = z.record(z.string(), OfServer);

const fileOf = ({ configDir }: Terminal): string => join(configDir, "sessions.json");

/** One person has one session, however she writes her address. */
const key = (email: string): string => email.trim().toLowerCase();

/** What cannot be read counts as nothing: the person signs in again. */
function read(terminal: Terminal): z.infer<typeof ByServer> {
  try {
    return ByServer.parse(JSON.parse(readFileSync(fileOf(terminal), "utf8")));
  } catch {
    return {};
  }
}

/** For the person's own eyes; put in place as a whole, so that a command that is cut short leaves what was there. */
function write(sessions: z.infer<typeof ByServer>, terminal: Terminal): void {
  mkdirSync(terminal.configDir, { recursive: true, mode: 0o700 });
  const file = fileOf(terminal);
  const next = `${file}.${process.pid}`;
  writeFileSync(next, JSON.stringify(sessions), { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, file);
}

/** The session of a person at a server; of whoever signed in there last when nobody is named. */
export function keptSession(url: string, email: string | undefined, terminal: Terminal): { email: string; kept: Kept } | undefined {
  const server = read(terminal)[url];
  const who = email === undefined ? server?.current : key(email);
  const kept = who == null ? undefined : server?.people[who];
  return who == null || kept === undefined ? undefined : { email: who, kept };
}

/** Keeps a session, and makes its person the one that commands act as. */
export function keepSession(url: string, email: string, session: Kept, terminal: Terminal): void {
  const sessions = read(terminal);
  write({ ...sessions, [url]: { current: key(email), people: { ...sessions[url]?.people, [key(email)]: session } } }, terminal);
}

export function forgetSession(url: string, email: string, terminal: Terminal): void {
  const sessions = read(terminal);
  const { [key(email)]: _forgotten, ...people } = sessions[url]?.people ?? {};
  const current = sessions[url]?.current ?? null;
  write({ ...sessions, [url]: { current: current === key(email) ? null : current, people } }, terminal);
}
