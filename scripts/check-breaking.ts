// Refuses a change of the contract that would break whoever was built on it: against the image of the last release, and against main where
// there is one. `--release` makes the present contract the image of the last release.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const baseline = "proto/baseline.binpb";
const buf = (...args: string[]) => execFileSync("buf", args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
const git = (...args: string[]) => execFileSync("git", args, { cwd: root, stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 });

const isCommit = (ref: string) => {
  try {
    git("rev-parse", "--verify", "--quiet", `${ref}^{commit}`);
    return true;
  } catch {
    return false; // no such branch, or no repository at all
  }
};

/** The contract as it stands at a commit, as an image. */
function imageOf(ref: string, scratch: string): string {
  const tree = join(scratch, "tree");
  mkdirSync(tree);
  execFileSync("tar", ["-x", "-C", tree], { input: git("archive", "--format=tar", ref, "proto", "buf.yaml") });
  const image = join(scratch, "main.binpb");
  buf("build", tree, "-o", image);
  return image;
}

if (process.argv.includes("--release")) buf("build", "-o", baseline);
else {
  const scratch = mkdtempSync(join(tmpdir(), "breaking-"));
  try {
    buf("breaking", "--against", baseline);
    const main = ["origin/main", "main"].find(isCommit);
    if (main !== undefined) buf("breaking", "--against", imageOf(main, scratch));
  } catch {
    process.exitCode = 1; // buf has said what breaks
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
