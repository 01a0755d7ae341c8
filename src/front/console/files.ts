import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { brotliDecompressSync, gzipSync } from "node:zlib";

/** What `npm run console:build` wrote: the page, and its assets, compressed with Brotli. */
const BUILT = new URL("./built/", import.meta.url);
const COMPRESSED = ".br";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

export const ENCODINGS = ["br", "gzip", "identity"] as const;
export type Encoding = (typeof ENCODINGS)[number];

interface Asset {
  readonly type: string;
  /** The content in an encoding. The rarer ones are made when they are first asked for. */
  readonly as: (encoding: Encoding) => Buffer;
}

/** The assets by their names, which contain a hash of the content. @throws for a file without a known type: the build has to name it */
export function readAssets(): ReadonlyMap<string, Asset> {
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

/** What the page states about the server. The names are attributes that console/index.html has empty or with a default. */
export interface PageFacts {
  /** The path of the issuer, without a slash at the end. */
  readonly base: string;
  readonly environment: string;
  /** Whether authorization requests must be pushed. */
  readonly pushed: boolean;
}

/** The page as a function of what changes with each request. */
export function pageWith({ base, environment, pushed }: PageFacts): (language: string, nonce: string) => string {
  const page = readFileSync(new URL("index.html", BUILT), "utf8")
    .replaceAll('"./assets/', `"${base}/console/assets/`)
    .replace('data-base=""', `data-base="${base}"`)
    .replace('data-environment="development"', `data-environment="${environment}"`)
    .replace('data-pushed="false"', `data-pushed="${pushed}"`);
  return (language, nonce) => page.replace('lang="en"', `lang="${language}"`).replace('nonce=""', `nonce="${nonce}"`);
}
