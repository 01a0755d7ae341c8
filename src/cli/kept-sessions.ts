import { randomUUID } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { epochMillis } from "../clock.ts";
import { CommandFailure, EXIT } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

const Kept = z.object({
  /** Without one: that of a sign-in by password. */
  clientId: z.string().optional(),
  accessToken: z.string(),
  refreshToken: z.string(),
  expiresAt: z.number(),
  cookie: z.string().optional(),
});
/** The tokens of a sign-in; `expiresAt` in seconds since the epoch. `cookie` ends the session of a sign-in by password. */
export type Kept = z.infer<typeof Kept>;

const OfServer = z.object({
  /** The user as whom commands act that name no user. */
  current: z.string().nullable(),
  users: z.record(z.string(), Kept),
});
const ByServer = z.record(z.string(), OfServer);

const fileOf = ({ configDir }: Terminal): string => join(configDir, "sessions.json");

/** A user has one session, however they write the address. */
const key = (email: string): string => email.trim().toLowerCase();

/** The content of a file of `replaceFile`. An unreadable one counts as empty. */
export function readKept<Content>(file: string, schema: z.ZodType<Record<string, Content>>): Record<string, Content> {
  try {
    return schema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return {};
  }
}

const readSessions = (terminal: Terminal) => readKept(fileOf(terminal), ByServer);

/** Writes a file that this user alone can read, under `withSessionLock`. An interrupted command leaves the old one. */
export function replaceFile(file: string, content: object): void {
  const next = `${file}.${process.pid}`;
  writeFileSync(next, JSON.stringify(content), { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, file);
}

const writeSessions = (sessions: z.infer<typeof ByServer>, terminal: Terminal): void => replaceFile(fileOf(terminal), sessions);

/** Milliseconds from now at which a lock belongs to a command that died, or to a clock that was set back; and between two looks for it. */
const LOCK_DEAD = 30_000;
const LOCK_LOOK = 50;

/** By which users end a command. */
const INTERRUPTS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs work as the only command that changes what the command line keeps: a refresh token that two of them sent would end its session, and of two that
 * write the file, one would undo what the other wrote.
 */
export async function withSessionLock<Result>({ configDir }: Terminal, work: () => Promise<Result> | Result): Promise<Result> {
  mkdirSync(configDir, { recursive: true, mode: 0o700 });
  const lock = join(configDir, "sessions.lock");
  const owner = randomUUID();
  while (!isTaken(lock, owner)) await setTimeout(LOCK_LOOK);
  let interrupt: NodeJS.Signals | undefined;
  const leave = () => {
    for (const signal of INTERRUPTS) process.off(signal, interrupted);
    removeOwners(lock, [owner]);
    if (interrupt !== undefined) process.kill(process.pid, interrupt); // without a listener it ends the process
  };
  // The first waits for the work, which would else lose the refresh token that the server has just replaced.
  const interrupted = (signal: NodeJS.Signals) => {
    const isFirst = interrupt === undefined;
    interrupt = signal;
    if (!isFirst) leave();
  };
  for (const signal of INTERRUPTS) process.on(signal, interrupted);
  try {
    removeUnfinished(configDir);
    return await work();
  } finally {
    leave();
  }
}

/** How systems refuse to replace a folder that has content; EPERM is that of Windows. */
const OF_ANOTHER: readonly (string | undefined)[] = ["ENOTEMPTY", "EEXIST", "EPERM"];

/** Puts a folder that holds the owner's name in the place of the lock. Only one process can: no folder replaces one that has content. */
function isTaken(lock: string, owner: string): boolean {
  const owners = ownersOf(lock);
  if (owners.some((each) => isAlive(join(lock, each)))) return false;
  removeOwners(lock, owners);
  const own = `${lock}.${owner}`;
  mkdirSync(join(own, owner), { recursive: true });
  try {
    renameSync(own, lock);
    return true;
  } catch (error) {
    rmSync(own, { recursive: true });
    if (!OF_ANOTHER.includes((error as NodeJS.ErrnoException).code)) throw error;
    return false;
  }
}

function ownersOf(lock: string): readonly string[] {
  try {
    return readdirSync(lock);
  } catch {
    return []; // it was released
  }
}

function isAlive(owner: string): boolean {
  const taken = statSync(owner, { throwIfNoEntry: false })?.mtimeMs;
  return taken !== undefined && Math.abs(epochMillis() - taken) <= LOCK_DEAD;
}

/** Removes owners by their names, since the lock may be another one's by now. */
function removeOwners(lock: string, owners: readonly string[]): void {
  for (const owner of owners) rmSync(join(lock, owner), { recursive: true, force: true });
  try {
    rmdirSync(lock);
  } catch {
    // There is none, or another owner has it.
  }
}

/** What a command creates under another name, and renames when it is complete. */
const UNFINISHED = /^(?:sessions\.lock\.[\da-f-]{36}|(?:sessions|clients)\.json\.\d+)$/;

/** A killed command leaves it behind, and it may hold tokens. */
function removeUnfinished(configDir: string): void {
  const paths = readdirSync(configDir).flatMap((name) => (UNFINISHED.test(name) ? [join(configDir, name)] : []));
  for (const path of paths) if (!isAlive(path)) rmSync(path, { recursive: true, force: true });
}

/** Checks that a sign-in can be stored, before a user is asked for it. @throws {CommandFailure} */
export function assertStorable({ configDir }: Terminal): void {
  try {
    mkdirSync(configDir, { recursive: true, mode: 0o700 });
    accessSync(configDir, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const next = "Set XDG_CONFIG_HOME to a folder where this user may write.";
    throw new CommandFailure(EXIT.failed, `Sign-ins cannot be stored in ${configDir} (${code}). ${next}`);
  }
}

/** The session of a user at a server. Without an e-mail address: of the user who signed in there last. */
export function keptSession(url: string, email: string | undefined, terminal: Terminal): { email: string; kept: Kept } | undefined {
  const server = readSessions(terminal)[url];
  const who = email === undefined ? server?.current : key(email);
  const kept = who == null ? undefined : server?.users[who];
  return who == null || kept === undefined ? undefined : { email: who, kept };
}

/** Stores a session, under `withSessionLock`. That of a sign-in makes its user the one as whom commands act; a renewed one does not. */
export function keepSession(url: string, email: string, session: Kept, terminal: Terminal, by: "sign-in" | "renewal"): void {
  const sessions = readSessions(terminal);
  const current = by === "sign-in" ? key(email) : (sessions[url]?.current ?? null);
  writeSessions({ ...sessions, [url]: { current, users: { ...sessions[url]?.users, [key(email)]: session } } }, terminal);
}

/** Removes a session, under `withSessionLock`. */
export function forgetSession(url: string, email: string, terminal: Terminal): void {
  const sessions = readSessions(terminal);
  const { [key(email)]: _forgotten, ...users } = sessions[url]?.users ?? {};
  const current = sessions[url]?.current ?? null;
  writeSessions({ ...sessions, [url]: { current: current === key(email) ? null : current, users } }, terminal);
}
