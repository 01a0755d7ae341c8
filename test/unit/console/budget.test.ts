import { readdirSync, readFileSync, statSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";

const assets = new URL("../../../src/front/console/built/assets/", import.meta.url);
const files = readdirSync(assets);
const textOf = (ending: string): string => {
  const file = files.find((name) => name.endsWith(`${ending}.br`)) ?? "";
  return brotliDecompressSync(readFileSync(new URL(file, assets))).toString();
};

/** The styles of each component of Mantine, in a file of its own. */
const mantine = new URL("../../../node_modules/@mantine/core/styles/", import.meta.url);
const components = readdirSync(mantine).filter((name) => name.endsWith(".css") && !name.endsWith(".layer.css"));
const classesIn = (css: string): readonly string[] => [...new Set(css.match(/\bm_[0-9a-f]+\b/g))];

describe("the files of the console, as they are committed", () => {
  // The page of one release may get those of another one. More files would have to fit each other.
  test("are one script and one style sheet, whose names have a hash", () => {
    expect(files.map((name) => name.replace(/-[\w-]{8}\./, "-HASH.")).sort()).toEqual(["index-HASH.css.br", "index-HASH.js.br"]);
  });

  test("have at most 280 kB, as they are sent, with every screen and language", () => {
    expect(files.reduce((sum, name) => sum + statSync(new URL(name, assets)).size, 0)).toBeLessThanOrEqual(280_000);
  });

  test("have no source maps", () => {
    expect(textOf(".js") + textOf(".css")).not.toContain("sourceMappingURL");
  });

  const [script, style] = [textOf(".js"), textOf(".css")];
  const shown = components.map((name) => [name, classesIn(readFileSync(new URL(name, mantine), "utf8"))] as const);
  const used = shown.filter(([, classes]) => classes.some((one) => script.includes(one)));

  test("use components of Mantine", () => {
    expect(used.length).toBeGreaterThan(30);
    expect(used.length).toBeLessThan(components.length);
  });

  test.for(used)("have the styles of %s", ([, classes]) => {
    expect(classesIn(style)).toEqual(expect.arrayContaining([...classes]));
  });
});
