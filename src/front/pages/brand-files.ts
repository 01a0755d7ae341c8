import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Branding, Brandings } from "../../branding/branding.ts";
import { accentStyle } from "../../branding/colour.ts";
import { logoFile } from "../../branding/logo.ts";
import { Refusal } from "../../errors.ts";
import { FOREVER, NOT_KEPT } from "../http/answers.ts";
import type { FrontContext, Handler } from "../http/routes.ts";
import { isSameFile } from "./assets.ts";

/** The path of all files of brandings. */
export const BRAND_PATH = "/assets/brand/:file";

interface Content {
  readonly body: string | Buffer;
  readonly type: string;
  readonly ending: string;
}

type BrandFile = Content & { readonly path: string };

const hashOf = (content: string | Buffer): string => hash("sha256", content, "hex").slice(0, 16);

/** Files by what they are made of: a logo or a colour. Old ones are dropped, so that changes of brandings do not fill the memory. */
const made = new LRUCache<string, BrandFile>({ max: 256 });

/** A file of a branding. Its path contains a hash of what it is made of, by which any release finds it, and one of its content. */
function fileOf(source: string, make: (source: string) => Content): BrandFile {
  const known = made.get(source);
  if (known !== undefined) return known;
  const content = make(source);
  const file = { ...content, path: BRAND_PATH.replace(":file", `${hashOf(source)}.${hashOf(content.body)}.${content.ending}`) };
  made.set(source, file);
  return file;
}

const logoOf = (base64: string): Content => {
  const { bytes, type, ending } = logoFile(base64);
  return { body: bytes, type, ending };
};

/** A letter in a square of its colour. */
const initialOf = (letter: string, colour: string): Content => {
  const text = `<text x="16" y="22" font-family="system-ui,sans-serif" font-size="18" font-weight="600" text-anchor="middle" fill="#fff">${letter}</text>`;
  const square = `<rect width="32" height="32" rx="9" fill="${colour}"/>`;
  const body = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${square}${text}</svg>`;
  return { body, type: "image/svg+xml", ending: "svg" };
};

const styleOf = (accent: string): Content => ({ body: accentStyle(accent), type: "text/css; charset=utf-8", ending: "css" });

/** Of the initial, where there is no colour: that of the pages. */
const ACCENT = "#2b50c8";

/** The files that pages with a branding link to. A name without a logo has its initial. */
export function brandFiles({ logo, name, accent }: Branding): {
  readonly logo?: BrandFile | undefined;
  readonly style?: BrandFile | undefined;
} {
  const colour = accent ?? ACCENT;
  const style = accent === undefined ? undefined : fileOf(accent, styleOf);
  if (logo !== undefined) return { logo: fileOf(logo, logoOf), style };
  if (name === undefined) return { style };
  // Not of the name: whether a path is answered would say who else has a branding here.
  const letter = /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? "";
  return { logo: fileOf(`${colour} ${letter}`, () => initialOf(letter, colour)), style };
}

/** A logo does nothing but draw, also when it is opened by itself. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** GET /assets/brand/:file: a file of one of the brandings. @throws {Refusal} not_found */
export const brandFilePage =
  (brandings: Brandings): Handler =>
  async (ctx: FrontContext) => {
    const named = (all: readonly Branding[]) =>
      all.map(brandFiles).flatMap(({ logo, style }) => [logo, style].filter((file) => file && isSameFile(file.path, ctx.path)))[0];
    // Another process may have sent a page with a branding that this one has not read yet.
    const file = named(brandings.all()) ?? named(await brandings.current());
    if (file === undefined) throw new Refusal("not_found", "no_such_path");
    ctx.set("Cache-Control", file.path === ctx.path ? FOREVER : NOT_KEPT);
    ctx.set("Content-Security-Policy", POLICY);
    ctx.set("Content-Type", file.type);
    ctx.body = file.body;
  };
