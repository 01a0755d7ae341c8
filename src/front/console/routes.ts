import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { Refusal } from "../../errors.ts";
import { loadOnce } from "../../load-once.ts";
import type { RandomBytes } from "../../random.ts";
import { apiErrorPrinter, FOREVER, NOT_KEPT, pageHeaders } from "../http/answers.ts";
import { languageOf } from "../http/caller.ts";
import { text } from "../http/describe.ts";
import type { Handler, Route } from "../http/routes.ts";

export interface ConsoleOptions {
  readonly issuer: string;
  readonly environment: string;
  readonly requirePushedRequests: boolean;
  readonly randomBytes: RandomBytes;
}

const ASSETS = "assets";
/** A screen is at most this deep: `/console/clients/:id`. The router has no pattern for paths of any depth. */
const SCREENS = ["/console", "/console/:screen", "/console/:screen/:id", "/console/:screen/:id/:part"] as const;

/**
 * The console: its files as they were built, and its page for every path of a screen (docs/console.md). Scripts come from here alone; styles
 * that scripts write need the nonce of the page.
 */
export function consoleRoutes(options: ConsoleOptions): readonly Route[] {
  const { issuer, randomBytes } = options;
  const print = apiErrorPrinter(issuer);
  const base = new URL(issuer).pathname.replace(/\/$/, "");
  const page = loadOnce(async () => pageWith(base, options));
  const answerPage: Handler = async (ctx) => {
    const { screen } = ctx.params as { readonly screen?: string };
    if (screen === ASSETS) throw new Refusal("not_found", "no_such_path");
    const nonce = Buffer.from(randomBytes(16)).toString("base64url");
    pageHeaders(ctx, policyWith(nonce));
    ctx.vary("Accept-Language, Cookie");
    ctx.set("Content-Type", "text/html; charset=utf-8");
    ctx.body = (await page())(languageOf(ctx), nonce);
  };
  const describePage = { tags: ["System"], summary: "The console", security: [], responses: { "200": text("A page.", "text/html") } };
  return [
    { method: "GET", path: `/console/${ASSETS}/:file`, print, answer: assetHandler() },
    { method: "GET", path: "/console/", print, answer: async (ctx) => ctx.redirect(`${base}/console`) },
    ...SCREENS.map(
      (path): Route => ({ method: "GET", path, print, answer: answerPage, ...(path === "/console" && { openapi: () => describePage }) }),
    ),
  ];
}

/** A hash, as the build puts it in a name. */
const HASH = /-[\w-]{8}(?=\.\w+$)/;

/**
 * GET /console/assets/:file. The page of a front of another release names its own script and style: it gets those of this release, which need
 * nothing else of the page that they were built with, and no further file. @throws {Refusal} not_found
 */
function assetHandler(): Handler {
  const assets = loadOnce(async () => readAssets());
  return async (ctx) => {
    const { file } = ctx.params as { readonly file: string };
    const all = await assets();
    const own = all.get(file);
    const asset = own ?? [...all].find(([name]) => HASH.test(file) && name.replace(HASH, "") === file.replace(HASH, ""))?.[1];
    if (asset === undefined) throw new Refusal("not_found", "no_such_path");
    const encoding = ENCODINGS.find((each) => ctx.acceptsEncodings(each) === each) ?? "identity";
    ctx.set("Cache-Control", own === undefined ? NOT_KEPT : FOREVER);
    ctx.vary("Accept-Encoding");
    if (encoding !== "identity") ctx.set("Content-Encoding", encoding);
    ctx.set("Content-Type", asset.type);
    ctx.body = asset.as(encoding);
  };
}

const policyWith = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:", // in the preview of a branding
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");

/** What `npm run console:build` wrote: the page, and its assets, compressed with Brotli. */
const BUILT = new URL("./built/", import.meta.url);
const COMPRESSED = ".br";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

const ENCODINGS = ["br", "gzip", "identity"] as const;
type Encoding = (typeof ENCODINGS)[number];

interface Asset {
  readonly type: string;
  /** The content in an encoding. The rarer ones are made when they are first asked for. */
  readonly as: (encoding: Encoding) => Buffer;
}

/** The assets by their names, which contain a hash of the content. @throws for a file without a known type: the build has to name it */
function readAssets(): ReadonlyMap<string, Asset> {
  const folder = new URL("assets/", BUILT);
  return new Map(
    readdirSync(folder).map((file) => {
      const name = file.slice(0, -COMPRESSED.length);
      const type = TYPES[extname(name)];
      if (type === undefined) throw new Error(`${file} has no known type`);
      return [name, { type, as: encoder(readFileSync(new URL(file, folder))) }];
    }),
  );
}

function encoder(br: Buffer): Asset["as"] {
  const made = new Map<Encoding, Buffer>([["br", br]]);
  const encode = (encoding: Encoding): Buffer => {
    const plain = brotliDecompressSync(br);
    return encoding === "gzip" ? gzipSync(plain, { level: 9 }) : plain;
  };
  return (encoding) => {
    const content = made.get(encoding) ?? encode(encoding);
    made.set(encoding, content);
    return content;
  };
}

/**
 * The page as a function of what changes with each request. It states facts about the server in attributes that console/index.html has empty
 * or with a default. @param base the path of the issuer, without a slash at the end
 */
function pageWith(base: string, { environment, requirePushedRequests }: ConsoleOptions): (language: string, nonce: string) => string {
  const page = readFileSync(new URL("index.html", BUILT), "utf8")
    .replaceAll('"./assets/', `"${base}/console/assets/`)
    .replace('data-base=""', `data-base="${base}"`)
    .replace('data-environment="development"', `data-environment="${environment}"`)
    .replace('data-pushed="false"', `data-pushed="${requirePushedRequests}"`);
  return (language, nonce) => page.replace('lang="en"', `lang="${language}"`).replace('nonce=""', `nonce="${nonce}"`);
}
