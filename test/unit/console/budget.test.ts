import { existsSync, readFileSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
  readonly css?: readonly string[];
}

const built = new URL("../../../src/front/console/built/", import.meta.url);
const chunks = JSON.parse(readFileSync(new URL("manifest.json", built), "utf8")) as Readonly<Record<string, Chunk>>;

/** Every file that a chunk needs before it runs. */
function filesOf(name: string, seen = new Set<string>()): ReadonlySet<string> {
  const { file, imports = [], css = [] } = chunks[name] as Chunk;
  if (seen.has(file)) return seen;
  for (const each of [file, ...css]) seen.add(each);
  for (const each of imports) filesOf(each, seen);
  return seen;
}

/** Bytes with Brotli, as they are sent. */
const sizeOf = (files: Iterable<string>): number => [...files].reduce((sum, file) => sum + statSync(new URL(`${file}.br`, built)).size, 0);

const [entry = ""] = Object.keys(chunks).filter((name) => chunks[name]?.isEntry);
const initial = filesOf(entry);
const lazy = chunks[entry]?.dynamicImports ?? [];

describe("the files of the console, as they are committed", () => {
  test("load at most 250 kB before the first screen", () => {
    expect(sizeOf(initial)).toBeLessThanOrEqual(250_000);
  });

  test.for(lazy)("%s needs at most 60 kB more", (name) => {
    expect(sizeOf([...filesOf(name)].filter((file) => !initial.has(file)))).toBeLessThanOrEqual(60_000);
  });

  test("have no source maps", () => {
    expect(lazy.length).toBeGreaterThan(3);
    expect([...initial].filter((file) => existsSync(new URL(`${file}.map.br`, built)))).toEqual([]);
  });
});
