import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Branding, Brandings } from "../../branding/branding.ts";
import { accentStyle } from "../../branding/colour.ts";
import { logoFile } from "../../branding/logo.ts";
import { Refusal } from "../../errors.ts";
import { FOREVER } from "../http/answers.ts";
import type { FrontContext, Handler } from "../http/routes.ts";

/** The path of all files of brandings. */
export const BRAND_PATH = "/assets/brand/:file";

type BrandFile = Readonly<ReturnType<typeof brandFile>>;

/** A file of a branding. Its path contains a hash of its content. */
function brandFile(body: string | Buffer, type: string, ending: string) {
  const file = `${hash("sha256", body, "hex").slice(0, 16)}.${ending}`;
  return { path: BRAND_PATH.replace(":file", file), type, body };
}

/** Files by what they are made of: a logo or a colour. Old ones are dropped, so that changes of brandings do not fill the memory. */
const made = new LRUCache<string, BrandFile>({ max: 256 });

function fileOf(source: string, make: (source: string) => BrandFile): BrandFile {
  const file = made.get(source) ?? make(source);
  made.set(source, file);
  return file;
}

const logoOf = (base64: string): BrandFile => {
  const { bytes, type, ending } = logoFile(base64);
  return brandFile(bytes, type, ending);
};

/** The first letter of a name in a square of its colour, for a name without a logo. */
const initialOf = (name: string, colour: string): BrandFile => {
  const letter = /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? "";
  const text = `<text x="16" y="22" font-family="system-ui,sans-serif" font-size="18" font-weight="600" text-anchor="middle" fill="#fff">${letter}</text>`;
  const square = `<rect width="32" height="32" rx="9" fill="${colour}"/>`;
  return brandFile(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${square}${text}</svg>`, "image/svg+xml", "svg");
};

/** Of the initial, where there is no colour: that of the pages. */
const ACCENT = "#2b50c8";

/** The files that pages with a branding link to. A name without a logo has its initial. */
export function brandFiles({ logo, name, accent }: Branding): {
  readonly logo?: BrandFile | undefined;
  readonly style?: BrandFile | undefined;
} {
  const colour = accent ?? ACCENT;
  const style = accent === undefined ? undefined : fileOf(accent, () => brandFile(accentStyle(accent), "text/css; charset=utf-8", "css"));
  if (logo !== undefined) return { logo: fileOf(logo, logoOf), style };
  return { logo: name === undefined ? undefined : fileOf(`${colour} ${name}`, () => initialOf(name, colour)), style };
}

/** A logo does nothing but draw, also when it is opened by itself. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** GET /assets/brand/:file: a file of one of the brandings. @throws {Refusal} not_found */
export const brandFilePage =
  (brandings: Brandings): Handler =>
  async (ctx: FrontContext) => {
    const named = (all: readonly Branding[]) =>
      all.map(brandFiles).flatMap(({ logo, style }) => [logo, style].filter((file) => file?.path === ctx.path))[0];
    // Another process may have sent a page with a branding that this one has not read yet.
    const file = named(brandings.all()) ?? named(await brandings.current());
    if (file === undefined) throw new Refusal("not_found", "no_such_path");
    ctx.set("Cache-Control", FOREVER);
    ctx.set("Content-Security-Policy", POLICY);
    ctx.set("Content-Type", file.type);
    ctx.body = file.body;
  };
