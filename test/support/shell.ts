import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * Runs commands of a document, one after the other, in a folder.
 * @returns what they print
 * @throws {Error} with its output, when one of them fails
 */
export async function runAll(commands: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
  const script = ["set -eu", ...commands].join("\n");
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 24 });
  return stdout;
}
