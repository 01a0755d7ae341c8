import { readFileSync } from "node:fs";
import { type AdminClient, type ManagementInputs, refusalOf } from "@countersign/admin";
import { CommandFailure, EXIT } from "./failure.ts";
import { everyPage, type managementCommands, type Output } from "./management-api.ts";

type Row = ManagementInputs["operator"]["users"]["import"]["users"][number];

/** `countersign users export` and `import`: one user a line, as JSON. */
export function registerUserFileCommands(command: ReturnType<typeof managementCommands>): void {
  command("export", "print every user as a line of JSON (without password hashes), oldest first", async (admin) => {
    const users = await everyPage(
      (at) => admin.operator.users.list.query(at),
      (page) => page.users,
    );
    const rows = users.toReversed().map(({ email, emailVerified, firstName, lastName, role, enabled }) => ({
      email,
      emailVerified,
      firstName,
      lastName,
      role,
      enabled,
    }));
    return { value: rows, text: rows.map((row) => JSON.stringify(row)).join("\n") };
  });
  command("import <file>", "add users from lines of JSON, with bcrypt or argon2 hashes as passwordHash: all, or none", importFile);
}

async function importFile({ operator }: AdminClient, file: string): Promise<Output> {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .map((text, index) => ({ text, line: index + 1 }))
    .filter(({ text }) => text.trim() !== "");
  const users = lines.map(({ text, line }) => rowOf(text, line));
  try {
    const done = await operator.users.import.mutate({ users });
    return { value: done, text: `Imported ${done.imported} users.` };
  } catch (error) {
    throw namingLines(error, lines);
  }
}

function rowOf(text: string, line: number): Row {
  try {
    return JSON.parse(text) as Row; // the server validates it
  } catch {
    throw new CommandFailure(EXIT.failed, `Nothing was imported.\n  line ${line}: is not JSON`);
  }
}

/** A refusal whose issues name lines of the file instead of indexes. */
function namingLines(error: unknown, lines: readonly { readonly line: number }[]): unknown {
  const issues = refusalOf(error)?.issues ?? [];
  if (issues.length === 0) return error;
  const named = issues.map(({ path, message }) => {
    const [, index = "", member = ""] = /^users\.(\d+)\.?(.*)$/.exec(path) ?? [];
    const line = lines[Number(index)]?.line;
    return `\n  ${index === "" || line === undefined ? path : `line ${line}: ${member}`} ${message}`;
  });
  return new CommandFailure(EXIT.failed, `Nothing was imported.${named.join("")}`);
}
