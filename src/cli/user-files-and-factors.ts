import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import type { Issue } from "../errors.ts";
import { isUuid } from "../random.ts";
import { CommandFailure, EXIT, PartlyDone, shownFile, textIn } from "./failure.ts";
import { confirm, everyPage, type Listed, listed, type managementCommands, type Output } from "./management-api.ts";
import { realmFound, realmNames } from "./realms.ts";
import { asJsonLine, printable, table, whenOf } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type User = ManagementOutputs["operator"]["users"]["get"];
type Row = ManagementInputs["operator"]["users"]["import"]["users"][number];

/** `countersign users export` and `import`: one user a line, as JSON. */
export function registerUserFileCommands(command: ReturnType<typeof managementCommands>, role: (value: string) => User["role"]): void {
  command("export", "print every user as a line of JSON (without password hashes), oldest first", async (admin) => {
    const users = await everyPage("users", (at) => admin.operator.users.list.query(at));
    const realms = await realmNames(admin);
    const rows = users.toReversed().map(({ id, email, emailVerified, firstName, lastName, role, realmId, enabled }) => ({
      id,
      email,
      emailVerified,
      firstName,
      lastName,
      role,
      realm: realms.get(realmId),
      enabled,
    }));
    return { value: rows, text: rows.map((row) => asJsonLine(row)).join("\n") };
  });
  command("import <file>", "add users from lines of JSON, with hashes of their passwords as passwordHash: all, or none", importFile)
    .option("--skip-existing", "leave out the lines whose address or id has an account")
    .option("--role <role>", "role of users whose line has no `role`; without it: that of users who sign up", role)
    .option("--realm <realm>", "name or id of the realm of users whose line has no `realm`; without it: the default realm");
}

interface Line {
  readonly line: number;
  readonly user: Row;
}

type ImportOptions = { readonly skipExisting?: boolean; readonly realm?: string; readonly role?: Row["role"] };

/** Users and bytes of one request, below the server's limits. */
const CHUNK = { users: 2_000, bytes: 500_000 };

/**
 * Imports a file. A longer one takes several requests, so all of them are checked before the first changes anything.
 * @throws {CommandFailure} which names the faulty lines, and what was imported if an address was taken after the check
 * @throws {PartlyDone} which names the lines that were imported, and those that may have been
 */
async function importFile(admin: AdminClient, file: string, { skipExisting, realm, role }: ImportOptions): Promise<Output> {
  const added = { ...(realm !== undefined && { realm: (await realmFound(admin, realm)).name }), ...(role !== undefined && { role }) };
  const lines = textIn(file)
    .split("\n")
    .flatMap((text, index) => (text.trim() === "" ? [] : [rowOf(text, index + 1, added)]));
  if (lines.length === 0) throw new CommandFailure(EXIT.failed, `${shownFile(file)} has no user.`);
  const faults = namedTwice(lines);
  const existing = new Set<Line>();
  for (const chunk of chunksOf(lines)) for (const line of await existingIn(admin, chunk, faults, skipExisting)) existing.add(line);
  const next = existing.size > 0 && !skipExisting ? `\n${NEXT}` : "";
  if (faults.length > 0) throw new CommandFailure(EXIT.failed, `${NOTHING}${shown(faults)}${next}`);
  const others = lines.filter((line) => !existing.has(line));
  let last = 0;
  for (const chunk of chunksOf(others)) {
    const done = last === 0 ? undefined : `The lines up to ${last} were imported.`;
    await admin.operator.users.import.mutate({ users: chunk.map(({ user }) => user), dryRun: false }).catch(async (error: unknown) => {
      const { isAnswerLost } = await import("./as-failure.ts");
      throw isAnswerLost(error) ? unanswered(error, chunk, done) : await namingLines(error, chunk, done);
    });
    last = chunk.at(-1)?.line ?? last;
  }
  const skipped = skipExisting ? ` ${countOf(existing.size)} had an account already.` : "";
  return {
    value: { imported: others.length, ...(skipExisting && { skipped: existing.size }) },
    text: `Imported ${countOf(others.length)}.${skipped}`,
  };
}

const countOf = (users: number): string => `${users} user${users === 1 ? "" : "s"}`;

/** Checks lines, and adds the faults that it finds: also of lines with an account, unless they are skipped. @returns those lines */
async function existingIn(admin: AdminClient, chunk: readonly Line[], faults: string[], skipExisting = false): Promise<readonly Line[]> {
  try {
    await admin.operator.users.import.mutate({ users: chunk.map(({ user }) => user), dryRun: true });
    return [];
  } catch (error) {
    const { refusalOf } = await import("@countersign/admin");
    const refusal = refusalOf(error);
    if (refusal === undefined || ![400, 409, 413].includes(refusal.httpStatus)) throw error;
    if (refusal.issues.length === 0 && chunk.length > 1) {
      // The body was refused before it was read as users: by halves the line is found.
      const half = chunk.length >> 1;
      const halves = [chunk.slice(0, half), chunk.slice(half)];
      return Array.fromAsync(halves, (part) => existingIn(admin, part, faults, skipExisting)).then((found) => found.flat());
    }
    const { issues, message } = refusal;
    const taken = new Set(refusal.error === "conflict" ? issues.map(({ path }) => Number(path.split(".")[1])) : []);
    if (!skipExisting || taken.size === 0)
      faults.push(...(issues.length > 0 ? issues : [{ path: "users.0", message }]).map((issue) => faultOf(issue, chunk)));
    return chunk.filter((_, index) => taken.has(index));
  }
}

const NOTHING = "Nothing was imported.";
const NEXT = "Import the file again with --skip-existing, which leaves out the users with an account.";

function chunksOf(lines: readonly Line[]): readonly (readonly Line[])[] {
  const chunks: Line[][] = [];
  let bytes = 0;
  for (const line of lines) {
    const size = Buffer.byteLength(JSON.stringify(line.user));
    const current = chunks.at(-1);
    bytes += size;
    if (current !== undefined && current.length < CHUNK.users && bytes <= CHUNK.bytes) current.push(line);
    else {
      chunks.push([line]);
      bytes = size;
    }
  }
  return chunks;
}

/** The faults of addresses and ids that two lines have. The server sees them only within one request. */
function namedTwice(lines: readonly Line[]): string[] {
  const seen = new Map<string, number>();
  const faults: string[] = [];
  for (const { line, user } of lines)
    for (const member of ["email", "id"] as const) {
      const value = user?.[member];
      if (typeof value !== "string") continue; // the server refuses it
      const key = value.normalize("NFC").toLowerCase();
      const first = seen.get(key);
      if (first === undefined) seen.set(key, line);
      else faults.push(`line ${line}: ${member} is named twice, first in line ${first}`);
    }
  return faults;
}

const MOST_SHOWN = 100;

function shown(faults: readonly string[]): string {
  const more = faults.length - MOST_SHOWN;
  return [...faults.slice(0, MOST_SHOWN), ...(more > 0 ? [`and ${more} more`] : [])].map((fault) => `\n  ${fault}`).join("");
}

/** An issue of a request with these lines, which names the line of the file instead of the index. */
function faultOf({ path, message }: Issue, lines: readonly Line[]): string {
  const [, index = "", member = ""] = /^users\.(\d+)\.?(.*)$/.exec(path) ?? [];
  const line = lines[Number(index)]?.line;
  const place = index === "" || line === undefined ? path : `line ${line}:${member && ` ${member}`}`;
  return `${place} ${message}`;
}

/** @param added members that count where the line has none */
function rowOf(text: string, line: number, added: Partial<Row>): Line {
  try {
    const user = JSON.parse(text) as Row; // the server validates it
    return { line, user: text.trim().startsWith("{") ? { ...added, ...user } : user };
  } catch {
    throw new CommandFailure(EXIT.failed, `${NOTHING}\n  line ${line}: is not JSON`);
  }
}

/** The server may have imported lines before the answer was lost. @param done what was done until then, in words */
function unanswered(error: unknown, lines: readonly Line[], done: string | undefined): PartlyDone {
  const maybe = `The lines up to ${lines.at(-1)?.line} may have been imported.`;
  return new PartlyDone([done, maybe, NEXT].filter((part) => part !== undefined).join(" "), { cause: error });
}

/** A refusal whose issues name lines of the file. @param done what was done until then, in words */
async function namingLines(error: unknown, lines: readonly Line[], done = NOTHING): Promise<unknown> {
  const { refusalOf } = await import("@countersign/admin");
  const before = done === NOTHING ? done : `${done} ${NEXT}`;
  const issues = refusalOf(error)?.issues ?? [];
  if (issues.length === 0) return done === NOTHING ? error : new PartlyDone(before, { cause: error });
  return new CommandFailure(EXIT.failed, `${before}${shown(issues.map((issue) => faultOf(issue, lines)))}`);
}

type FactorOptions = { readonly removeApp?: true; readonly removePasskey?: string; readonly yes?: true };
type SessionOptions = { readonly end?: string; readonly yes?: true };

async function factorsOf({ operator }: AdminClient, id: string): Promise<Output> {
  const value = await operator.factors.list.query({ userId: id });
  const { authenticatorApp: app, passkeys } = value;
  const codes = app && {
    ...{ factor: "authenticator app", id: "", name: `${app.recoveryCodes} recovery codes` },
    ...{ addedAt: app.addedAt, lastUsedAt: null },
  };
  const named = passkeys.map(({ id, name, createdAt: addedAt, lastUsedAt, copiedAt }) => ({
    ...{ factor: "passkey", id, name: copiedAt === null ? name : `${name} (copied, refused)`, addedAt, lastUsedAt },
  }));
  const all = codes === null ? named : [codes, ...named];
  const columns = { FACTOR: "factor", ID: "id", NAME: "name", ADDED: whenOf("addedAt"), "LAST USED": whenOf("lastUsedAt") } as const;
  return { value, text: all.length === 0 ? "This user has no passkey and no authenticator app." : table(all, columns) };
}

async function sessionsOf({ operator }: AdminClient, of: string): Promise<Output> {
  const value = await operator.sessions.list.query({ userId: of });
  const text = table(value.sessions, {
    ...({ ID: "id", BROWSER: "browser", SYSTEM: "system", ADDRESS: "address" } as const),
    ...{ "SIGNED IN": whenOf("signedInAt"), "LAST SEEN": whenOf("lastSeenAt") },
  });
  return { value, text: value.sessions.length === 0 ? "This user is not signed in." : text };
}

export function registerUserFactorCommands(command: ReturnType<typeof managementCommands>, terminal: Terminal): void {
  command(
    "factors <user>",
    "list a user's passkeys and authenticator app, or remove one",
    async (admin, named: string, { removeApp, removePasskey, yes }: FactorOptions) => {
      const id = await userId(admin, named);
      if (removeApp) {
        await confirm(terminal, `Remove the authenticator app of ${printable(named)}, and all recovery codes?`, yes);
        await admin.operator.factors.removeApp.mutate({ userId: id });
      }
      if (removePasskey !== undefined) {
        await confirm(terminal, `Remove this passkey of ${printable(named)}?`, yes);
        await admin.operator.factors.removePasskey.mutate({ userId: id, id: removePasskey });
      }
      return factorsOf(admin, id);
    },
  )
    .option("--remove-app", "remove the authenticator app with its recovery codes; the user gets a mail")
    .option("--remove-passkey <id>", "remove a passkey; the user gets a mail")
    .option("-y, --yes", "do not ask first");
  command(
    "sessions <user>",
    "list where a user is signed in, or sign them out",
    async (admin, named: string, { end, yes }: SessionOptions) => {
      const id = await userId(admin, named);
      if (end !== undefined) {
        await confirm(terminal, end === "all" ? `Sign ${printable(named)} out everywhere?` : "End this session?", yes);
        await admin.operator.sessions.end.mutate({ userId: id, ...(end !== "all" && { id: end }) });
      }
      return sessionsOf(admin, id);
    },
  )
    .option("--end <session>", "end a session, or with `all` every session and refresh token")
    .option("-y, --yes", "do not ask first");
}

export const usersFound = ({ operator }: AdminClient, search: string | undefined, most?: number): Promise<Listed<User>> =>
  listed("users", (at) => operator.users.list.query({ search, ...at }), most);

/** The id in an option. @throws {CommandFailure} for anything but a UUID, which would silently find nothing */
export function asId(option: string, value: string): string {
  const id = value.toLowerCase();
  if (!isUuid(id)) throw new CommandFailure(EXIT.failed, `${option}: not an id`);
  return id;
}

/** The id of a user who is named by id or e-mail address. @throws {CommandFailure} for an address of no user, or of several */
export async function userId(admin: AdminClient, named: string): Promise<string> {
  if (!named.includes("@")) return named;
  const [first, ...others] = (await usersFound(admin, named.slice(0, 200))).items.filter(
    ({ email }) => email.toLowerCase() === named.toLowerCase(),
  );
  if (first === undefined) throw new CommandFailure(EXIT.notFound, `No user has the e-mail address ${printable(named)}.`);
  if (others.length > 0)
    throw new CommandFailure(EXIT.failed, `Several users have the e-mail address ${printable(named)}: name one by id.`);
  return first.id;
}
