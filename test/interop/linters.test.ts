import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { pythonCommands } from "../support/python.ts";

const ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";
const python = await pythonCommands();
const go = spawnSync("go", ["version"], { stdio: "ignore" }).status === 0 ? "go" : undefined;
const fromPython = (name: string) => (python !== undefined && existsSync(join(python, name)) ? join(python, name) : undefined);

const LINTERS = [
  ["hadolint accepts the Dockerfile", "Python", fromPython("hadolint"), ["--no-color", "Dockerfile"]],
  ["zizmor finds nothing in the workflows", "Python", fromPython("zizmor"), ["--offline", "--quiet", ".github/workflows"]],
  ["actionlint accepts the workflows", "Go", go, ["run", ACTIONLINT]],
] as const;

for (const [title, toolchain, command, args] of LINTERS) {
  test.skipIf(command === undefined)(command === undefined ? `missing toolchain: ${toolchain}` : title, async () => {
    const cwd = join(import.meta.dirname, "../..");
    const found = await promisify(execFile)(command!, [...args], { cwd }).then(
      () => "nothing",
      ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
    );
    expect(found).toBe("nothing");
  });
}
