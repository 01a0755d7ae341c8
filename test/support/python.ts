import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const requirements = join(import.meta.dirname, "../python/requirements.txt");
const run = promisify(execFile);

/**
 * The commands of an environment with the packages of test/python, kept between runs until the list changes.
 * @returns the folder of its commands; undefined where Python or its packages are missing
 */
export async function pythonCommands(): Promise<string | undefined> {
  const digest = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const kept = join(tmpdir(), `countersign-python-${digest}`);
  if (existsSync(kept)) return join(kept, "bin");
  if (spawnSync("python3", ["-c", "import venv"], { stdio: "ignore" }).status !== 0) return undefined;
  const made = mkdtempSync(`${kept}-`); // an environment cannot be moved: the name that is kept links to it
  try {
    await run("python3", ["-m", "venv", made]);
    await run(join(made, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", "-r", requirements], { timeout: 300_000 });
    symlinkSync(made, kept);
  } catch {
    rmSync(made, { recursive: true, force: true }); // another worker was first, or the packages cannot be installed
  }
  return existsSync(kept) ? join(kept, "bin") : undefined;
}
