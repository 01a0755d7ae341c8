// Generates the code of the contract anew, beside the committed one, and refuses any difference.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "generated-"));
const run = (...args: string[]) => execFileSync("buf", args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });

/** The server's, and the guard's own. */
const GENERATED = ["src/gen", "guard-sdk/src/gen"];

/** Every file below a directory of a tree, by its path in the tree. */
const filesOf = (base: string, directory: string) =>
  new Map(
    readdirSync(join(base, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(base.length + 1), readFileSync(path)]),
  );

try {
  run("generate", "--output", scratch);
  run("generate", "--template", "guard-sdk/buf.gen.yaml", "--output", scratch);
  run("build", "-o", join(scratch, "src/gen/api.binpb"));
  const treeOf = (base: string) => new Map(GENERATED.flatMap((directory) => [...filesOf(base, directory)]));
  const [fresh, committed] = [treeOf(scratch), treeOf(root)];
  const differing = [...new Set([...fresh.keys(), ...committed.keys()])].filter((path) => {
    const [a, b] = [fresh.get(path), committed.get(path)];
    return a === undefined || b === undefined || !a.equals(b);
  });
  if (differing.length > 0) {
    console.error(`the committed code is not what \`npm run generate\` writes:\n${differing.map((path) => `  ${path}`).join("\n")}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(scratch, { recursive: true });
}
