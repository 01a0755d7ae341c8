// Builds the console into the folder that the server sends it from. With --check, compares what it would write with what is committed.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { build } from "vite";

const target = join(import.meta.dirname, "../src/front/console/built");
const COMPRESSED = ".br";

/** Every file below a folder with its content, decompressed. */
function contentOf(folder: string): ReadonlyMap<string, Buffer> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const content = readFileSync(path);
      const isCompressed = path.endsWith(COMPRESSED);
      const name = path.slice(folder.length + 1);
      return isCompressed ? [name.slice(0, -COMPRESSED.length), brotliDecompressSync(content)] : [name, content];
    }),
  );
}

function write(files: ReadonlyMap<string, Buffer>): void {
  rmSync(target, { recursive: true, force: true });
  for (const [name, content] of files) {
    const isAsset = name.startsWith("assets/");
    const path = join(target, isAsset ? `${name}${COMPRESSED}` : name);
    mkdirSync(dirname(path), { recursive: true });
    const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    writeFileSync(path, isAsset ? brotliCompressSync(content, { params }) : content);
  }
}

function differing(fresh: ReadonlyMap<string, Buffer>, committed: ReadonlyMap<string, Buffer>): readonly string[] {
  return [...new Set([...fresh.keys(), ...committed.keys()])].filter((name) => {
    const [one, other] = [fresh.get(name), committed.get(name)];
    return one === undefined || other === undefined || !one.equals(other);
  });
}

const scratch = mkdtempSync(join(tmpdir(), "console-"));
try {
  await build({
    configFile: join(import.meta.dirname, "vite.config.ts"),
    logLevel: "warn",
    mode: "production",
    build: { outDir: scratch, emptyOutDir: true },
  });
  const fresh = contentOf(scratch);
  if (!process.argv.includes("--check")) write(fresh);
  else {
    const names = differing(fresh, contentOf(target));
    if (names.length > 0) {
      console.error(`the committed console is not what \`npm run console:build\` writes:\n${names.map((name) => `  ${name}`).join("\n")}`);
      process.exitCode = 1;
    }
  }
} finally {
  rmSync(scratch, { recursive: true });
}
