// Generates the code of the contract anew, beside the committed one, and refuses any difference.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "generated-"));
const run = (...args: string[]) => execFileSync("buf", args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });

/** Every file below a directory, by its path in it. */
const filesOf = (directory: string) =>
  new Map(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(directory.length + 1), readFileSync(path)]),
  );

try {
  run("generate", "--output", scratch);
  run("build", "-o", join(scratch, "src/gen/api.binpb"));
  const fresh = filesOf(join(scratch, "src/gen"));
  const committed = filesOf(join(root, "src/gen"));
  const differing = [...new Set([...fresh.keys(), ...committed.keys()])].filter((path) => {
    const [a, b] = [fresh.get(path), committed.get(path)];
    return a === undefined || b === undefined || !a.equals(b);
  });
  if (differing.length > 0) {
    console.error(`src/gen is not what \`npm run generate\` writes:\n${differing.map((path) => `  src/gen/${path}`).join("\n")}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(scratch, { recursive: true });
}
