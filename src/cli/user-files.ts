import type { AdminClient, ManagementInputs } from "@countersign/admin";
import { CommandFailure, EXIT, PartlyDone, shownFile, textIn } from "./failure.ts";
import { everyPage, type managementCommands, type Output } from "./management-api.ts";
import { asJsonLine } from "./table.ts";

type Row = ManagementInputs["operator"]["users"]["import"]["users"][number];

/** `countersign users export` and `import`: one user a line, as JSON. */
export function registerUserFileCommands(command: ReturnType<typeof managementCommands>): void {
  command("export", "print every user as a line of JSON (without password hashes), oldest first", async (admin) => {
    const users = await everyPage("users", (at) => admin.operator.users.list.query(at));
    const rows = users.toReversed().map(({ id, email, emailVerified, firstName, lastName, role, enabled }) => ({
      id,
      email,
      emailVerified,
      firstName,
      lastName,
      role,
      enabled,
    }));
    return { value: rows, text: rows.map((row) => asJsonLine(row)).join("\n") };
  });
  command("import <file>", "add users from lines of JSON, with hashes of their passwords as passwordHash: all, or none", importFile).option(
    "--skip-existing",
    "leave out the lines whose address or id has an account",
  );
}

interface Line {
  readonly line: number;
  readonly user: Row;
}

/** Users and bytes of one request, below the server's limits. */
const CHUNK = { users: 2_000, bytes: 500_000 };

/**
 * Imports a file. A longer one takes several requests, so all of them are checked before the first changes anything.
 * @throws {CommandFailure} which names the faulty lines, and what was imported if an address was taken after the check
 * @throws {PartlyDone} which names the lines that were imported, and those that may have been
 */
async function importFile(admin: AdminClient, file: string, { skipExisting }: { readonly skipExisting?: boolean }): Promise<Output> {
  const lines = textIn(file)
    .split("\n")
    .flatMap((text, index) => (text.trim() === "" ? [] : [rowOf(text, index + 1)]));
  if (lines.length === 0) throw new CommandFailure(EXIT.failed, `${shownFile(file)} has no user.`);
  assertDistinct(lines);
  const existing = new Set<Line>();
  for (const chunk of chunksOf(lines)) for (const line of await existingIn(admin, chunk, skipExisting)) existing.add(line);
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

/** Checks lines. @returns those with an account, where they are skipped  @throws {CommandFailure} which names the faulty lines */
async function existingIn({ operator }: AdminClient, chunk: readonly Line[], skipExisting = false): Promise<readonly Line[]> {
  try {
    await operator.users.import.mutate({ users: chunk.map(({ user }) => user), dryRun: true });
    return [];
  } catch (error) {
    const { refusalOf } = await import("@countersign/admin");
    const refusal = refusalOf(error);
    if (!skipExisting || refusal?.error !== "conflict") throw await namingLines(error, chunk);
    const indexes = new Set(refusal.issues.map(({ path }) => Number(path.split(".")[1])));
    return chunk.filter((_, index) => indexes.has(index));
  }
}

const NOTHING = "Nothing was imported.";

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

/** The server sees an address or id twice only within one request. */
function assertDistinct(lines: readonly Line[]): void {
  const seen = new Set<string>();
  for (const { line, user } of lines)
    for (const member of ["email", "id"] as const) {
      const value = user?.[member];
      if (typeof value !== "string") continue; // the server refuses it
      const key = value.normalize("NFC").toLowerCase();
      if (seen.has(key)) throw new CommandFailure(EXIT.failed, `${NOTHING}\n  line ${line}: ${member} is named twice`);
      seen.add(key);
    }
}

function rowOf(text: string, line: number): Line {
  try {
    return { line, user: JSON.parse(text) as Row }; // the server validates it
  } catch {
    throw new CommandFailure(EXIT.failed, `${NOTHING}\n  line ${line}: is not JSON`);
  }
}

/** The server may have imported lines before the answer was lost. @param done what was done until then, in words */
function unanswered(error: unknown, lines: readonly Line[], done: string | undefined): PartlyDone {
  const maybe = `The lines up to ${lines.at(-1)?.line} may have been imported.`;
  const next = "Import the file again with --skip-existing, which leaves out the users with an account.";
  return new PartlyDone([done, maybe, next].filter((part) => part !== undefined).join(" "), error);
}

/** A refusal whose issues name lines of the file instead of indexes. @param done what was done until then, in words */
async function namingLines(error: unknown, lines: readonly Line[], done?: string): Promise<unknown> {
  const { refusalOf } = await import("@countersign/admin");
  const before = done === undefined ? NOTHING : `${done} Remove them from the file, and import the rest.`;
  const issues = refusalOf(error)?.issues ?? [];
  if (issues.length === 0) return done === undefined ? error : new PartlyDone(before, error);
  const named = issues.map(({ path, message }) => {
    const [, index = "", member = ""] = /^users\.(\d+)\.?(.*)$/.exec(path) ?? [];
    const line = lines[Number(index)]?.line;
    const place = index === "" || line === undefined ? path : `line ${line}:${member && ` ${member}`}`;
    return `\n  ${place} ${message}`;
  });
  return new CommandFailure(EXIT.failed, `${before}${named.join("")}`);
}
