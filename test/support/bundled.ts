import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { digestOf } from "./packed.ts";

const root = join(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache/countersign-test");

/** Packages that read files beside their modules, or have one class twice when bundled. */
const IN_THEIR_PLACE = /^(?:@electric-sql\/.*|@mikro-orm\/.*|argon2|bcrypt|pg|pino)$/;

/** Modules read files of the source relative to where they are, and start others of it. */
const fromTheirPlace = {
  name: "from their place",
  transform: (code: string, id: string) =>
    code
      .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
      .replaceAll("import.meta.dirname", JSON.stringify(dirname(id)))
      .replaceAll("import.meta.filename", JSON.stringify(id))
      .replaceAll(/(?<!(?:const|let|var) )\b__dirname\b/g, JSON.stringify(dirname(id))),
};

/**
 * The command line in fifty files instead of a thousand, which a start of the server takes two thirds of the CPU with. It is made once for each
 * state of the sources, and kept between runs. What a user starts, `bin/countersign`, is started by other tests.
 * @returns the path of its main module
 */
export async function bundledCommandLine(): Promise<string> {
  const path = pathOfSources();
  if (!existsSync(path)) await bundleInto(path);
  return existsSync(path) ? join(path, "main.js") : bundledCommandLine();
}

const SOURCES = ["src", "admin/src", "package-lock.json", "test/support/bundled.ts"].map((name) => join(root, name));
const pathOfSources = () => join(cache, digestOf(SOURCES));

async function bundleInto(path: string): Promise<void> {
  const { rolldown } = await import("rolldown");
  mkdirSync(cache, { recursive: true });
  const making = mkdtempSync(join(cache, "making-"));
  const bundle = await rolldown({
    input: join(root, "src/main.ts"),
    cwd: root,
    platform: "node",
    resolve: { conditionNames: ["countersign", "node", "import"] },
    transform: { target: "esnext" },
    external: IN_THEIR_PLACE,
    plugins: [fromTheirPlace],
    logLevel: "silent",
  });
  await bundle.write({ dir: making });
  try {
    if (pathOfSources() === path) renameSync(making, path); // else a source was changed since
  } catch {
    // Another worker made it first.
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}
