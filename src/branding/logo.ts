import { createRequire } from "node:module";
import type { SaxesTagNS } from "saxes";

/** Media types, and the endings of their paths. */
const LOGO_TYPES = { "image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp" } as const;

/** Bytes: every page loads it. */
export const MAX_LOGO = 65_536;

const SVG = "http://www.w3.org/2000/svg";
const XLINK = "http://www.w3.org/1999/xlink";

/** Elements that draw. Every other one is refused: what runs, loads, links, or embeds something else. */
const DRAWING = new Set(
  "svg g defs symbol use title desc path rect circle ellipse line polyline polygon text tspan linearGradient radialGradient stop clipPath mask pattern style".split(
    " ",
  ),
);

/** A reference to something else than an element of the same image. Backslashes can hide one from this test. */
const REFERS_OUTSIDE = /url\(\s*(?!["']?#)|@import|\\|image-set\(|javascript:/i;

function attributeFault({ attributes }: SaxesTagNS): string | undefined {
  for (const { uri, local, value } of Object.values(attributes)) {
    if (/^on/i.test(local)) return `the attribute ${local}, which runs a script`;
    if (local === "href" && (uri === "" || uri === XLINK) && !value.startsWith("#")) return "a reference to something outside of the image";
    if (REFERS_OUTSIDE.test(value)) return "a reference to something outside of the image";
  }
  return undefined;
}

/** What an SVG image has that no logo may have; undefined for none. */
function activeContent(text: string): string | undefined {
  let found: string | undefined;
  const refuse = (what: string | undefined) => {
    found ??= what;
  };
  // Loaded for an SVG alone: settings are read at every start.
  const { SaxesParser } = createRequire(import.meta.url)("saxes") as typeof import("saxes"); // what the package says of itself
  const parser = new SaxesParser({ xmlns: true });
  parser.on("error", () => refuse("a fault: it is no well-formed XML"));
  parser.on("doctype", (doctype) => refuse(doctype.includes("[") ? "a document type with declarations" : undefined));
  parser.on("processinginstruction", ({ target }) => refuse(target === "xml" ? undefined : "a processing instruction"));
  parser.on("opentag", (tag) => {
    if (tag.uri !== SVG || !DRAWING.has(tag.local)) refuse(`the element <${tag.name.slice(0, 40)}>, which draws nothing`);
    refuse(attributeFault(tag));
  });
  let written = "";
  const write = (part: string) => {
    written += part;
  };
  parser.on("text", write);
  parser.on("cdata", write);
  parser.write(text).close();
  // As a whole: comments and character data can divide a style.
  if (REFERS_OUTSIDE.test(written)) refuse("a style that refers to something outside of the image");
  return found;
}

const startsWith = (bytes: Uint8Array, ...start: readonly number[]): boolean => start.every((byte, index) => bytes[index] === byte);

/** The media type by the first bytes; undefined for anything else. */
function typeOf(bytes: Uint8Array): keyof typeof LOGO_TYPES | undefined {
  if (startsWith(bytes, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return "image/png";
  if (startsWith(bytes, 0xff, 0xd8, 0xff)) return "image/jpeg";
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (/^RIFF....WEBP$/s.test(head)) return "image/webp";
  return /^(?:\u00ef\u00bb\u00bf)?\s*</.test(head) ? "image/svg+xml" : undefined;
}

/** Why an image file cannot be a logo, with the remedy: undefined for PNG, JPEG, WebP, and SVG that does nothing but draw. Pure. */
export function logoFault(bytes: Uint8Array): { readonly fault: string; readonly remedy: string } | undefined {
  if (bytes.byteLength > MAX_LOGO) return { fault: `is larger than ${MAX_LOGO / 1024} KiB`, remedy: "give a smaller image" };
  const type = typeOf(bytes);
  if (type === undefined) return { fault: "is neither a PNG, JPEG, WebP nor SVG image", remedy: "give one of these" };
  if (type === "image/svg+xml") {
    const active = activeContent(Buffer.from(bytes).toString("utf8"));
    if (active !== undefined) return { fault: `is an SVG image with ${active}`, remedy: "save it as plain SVG, or give a PNG" };
  }
  return undefined;
}

/** A logo as it is served. @param base64 of an image without logoFault */
export function logoFile(base64: string) {
  const bytes = Buffer.from(base64, "base64");
  const type = typeOf(bytes) ?? "image/png";
  return { bytes, type, ending: LOGO_TYPES[type] };
}
