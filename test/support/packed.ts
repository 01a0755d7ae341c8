import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const modules = join(root, "node_modules");
const run = promisify(execFile);

/** "." is the server. */
export type Workspace = "agent-sdk" | "guard-sdk" | "admin" | ".";

/** A temporary directory, and a function that removes it. */
export function scratch(): { readonly dir: string; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), "countersign-packed-"));
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** The files that a packed workspace depends on; package-lock.json stands for node_modules. */
const sourcesOf = (workspace: Workspace): readonly string[] => [
  ...["package.json", "tsconfig.json", "src"],
  ...(workspace === "."
    ? ["tsconfig.build.json", "scripts/build.ts", "bin", "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"]
    : [workspace]),
];
const isSource = (path: string): boolean => !["dist", "node_modules"].includes(basename(path));

/** A digest of files, and of the files of folders. */
export function digestOf(paths: readonly string[]): string {
  const digest = createHash("sha256");
  const add = (path: string): void => {
    if (!isSource(path)) return;
    digest.update(`${path}\0`);
    if (statSync(path).isDirectory()) for (const name of readdirSync(path).toSorted()) add(join(path, name));
    else digest.update(readFileSync(path));
  };
  for (const path of paths) add(path);
  return digest.digest("hex").slice(0, 16);
}

const packing = new Map<Workspace, Promise<string>>();

/**
 * The tarball of a workspace as it would be published, packed once for each state of the sources and kept between runs.
 * @returns its path
 */
export function packed(workspace: Workspace): Promise<string> {
  const known = packing.get(workspace) ?? packedOnce(workspace);
  packing.set(workspace, known);
  return known;
}

async function packedOnce(workspace: Workspace): Promise<string> {
  const sources = [...sourcesOf(workspace), "package-lock.json"].map((name) => join(root, name));
  const path = join(tmpdir(), `countersign-${workspace.replace(".", "server")}-${digestOf(sources)}.tgz`);
  if (existsSync(path)) return path;
  const { dir, remove } = scratch();
  try {
    renameSync(await pack(workspace, dir), path); // atomic: another worker may do the same
    return path;
  } finally {
    remove();
  }
}

/**
 * Packs with the build, which the .npmrc of a checkout disables, in a copy of the repository, so that nothing is written to the checkout.
 */
async function pack(workspace: Workspace, dir: string): Promise<string> {
  const copy = join(dir, "copy");
  for (const name of sourcesOf(workspace)) cpSync(join(root, name), join(copy, name), { recursive: true, filter: isSource });
  symlinkSync(modules, join(copy, "node_modules"));
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts=false", "--pack-destination", dir], {
    cwd: join(copy, workspace),
  });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf("[\n"))) as [{ filename: string }]; // after the output of the build
  return join(dir, filename);
}

/**
 * An empty project with the tarball installed as a user would, but without a network, and without a cache, which not every machine has filled:
 * dependencies come from this repository.
 * @param needs the dependencies of the tarball
 * @param linked further packages of the project, as links to this repository's
 */
export async function install(dir: string, tarball: string, needs: readonly string[], linked: readonly string[] = []): Promise<void> {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const offline = ["--offline", "--ignore-scripts", "--install-links", "--legacy-peer-deps", "--no-package-lock"];
  await run("npm", ["install", ...offline, "--cache", join(dir, "cache"), tarball, ...needs.map((name) => join(modules, name))], {
    cwd: dir,
  });
  for (const name of linked) {
    const at = join(dir, "node_modules", name);
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(join(modules, name), at);
  }
}

/**
 * An empty project with tarballs unpacked to where npm installs them, their commands, and links to this repository's packages: a twentieth of
 * the work of `install`, which test/shape/packages.test.ts does for each package.
 * @param tarballs by the names of their packages
 * @param linked every other package that the project has
 */
export async function unpack(dir: string, tarballs: Readonly<Record<string, string>>, linked: readonly string[]): Promise<void> {
  const at = (name: string) => join(dir, "node_modules", name);
  mkdirSync(at(".bin"), { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true, type: "module" }));
  for (const [name, tarball] of Object.entries(tarballs)) {
    mkdirSync(at(name), { recursive: true });
    await run("tar", ["xzf", tarball, "-C", at(name), "--strip-components=1"]);
    const { bin = {} } = JSON.parse(readFileSync(join(at(name), "package.json"), "utf8")) as { readonly bin?: Record<string, string> };
    for (const [command, path] of Object.entries(bin)) symlinkSync(join(at(name), path), at(join(".bin", command)));
  }
  for (const name of linked) {
    mkdirSync(dirname(at(name)), { recursive: true });
    symlinkSync(join(modules, name), at(name));
  }
}
