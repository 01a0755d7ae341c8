// Builds what the package of the server contains, into dist: the source without its types, and the files that the source reads.
import { spawnSync } from "node:child_process";
import { cpSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const [source, target] = [join(root, "src"), join(root, "dist")];

rmSync(target, { recursive: true, force: true });
cpSync(source, target, { recursive: true, filter: (path) => statSync(path).isDirectory() || !path.endsWith(".ts") });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
process.exitCode = status ?? 1;
