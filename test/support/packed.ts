import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const modules = join(root, "node_modules");
const run = promisify(execFile);

export type Workspace = "guard-sdk" | "admin";

/** A folder of its own below the system's, and how to be rid of it. */
export function scratch(): { readonly dir: string; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), "countersign-packed-"));
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/**
 * Packs a workspace as publishing would, its build included (which the .npmrc of a checkout leaves out), in a copy of the repository: tests that pack at the same time see no half of it.
 * @returns the path of the tarball, inside `dir`
 */
export async function packed(workspace: Workspace, dir: string): Promise<string> {
  const copy = join(dir, `${workspace}-copy`);
  const skipped = new Set(["dist", "node_modules"]);
  for (const name of ["package.json", "tsconfig.json", "src", workspace]) {
    cpSync(join(root, name), join(copy, name), { recursive: true, filter: (path) => !skipped.has(basename(path)) });
  }
  symlinkSync(modules, join(copy, "node_modules"));
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts=false", "--pack-destination", dir], {
    cwd: join(copy, workspace),
  });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf("[\n"))) as [{ filename: string }]; // what the build says comes first
  return join(dir, filename);
}

/**
 * An empty project with a tarball installed as its user would, though without a network: what it depends on is taken from this repository.
 * @param needs the packages that the tarball depends on
 * @param linked packages that the project needs besides, as links to this repository's
 */
export async function install(dir: string, tarball: string, needs: readonly string[], linked: readonly string[] = []): Promise<void> {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const offline = ["--offline", "--ignore-scripts", "--install-links", "--legacy-peer-deps", "--no-package-lock"];
  await run("npm", ["install", ...offline, tarball, ...needs.map((name) => join(modules, name))], { cwd: dir });
  for (const name of linked) {
    const at = join(dir, "node_modules", name);
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(join(modules, name), at);
  }
}
