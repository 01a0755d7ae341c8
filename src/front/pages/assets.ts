import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { FrontContext } from "../http/routes.ts";

const TYPES = { css: "text/css; charset=utf-8", svg: "image/svg+xml", js: "text/javascript; charset=utf-8" } as const;

/**
 * A file whose path contains a hash of its content, so that caches may keep it forever.
 * @param parts files of a folder with the asset's name, in this order; without parts the asset is one file
 */
function asset(file: string, type: keyof typeof TYPES, parts: readonly string[] = []) {
  const files = parts.length === 0 ? [file] : parts.map((part) => `${file}/${part}`);
  const content = Buffer.concat(files.map((name) => readFileSync(new URL(`./assets/${name}.${type}`, import.meta.url))));
  const tag = hash("sha256", content, "hex").slice(0, 16);
  const etag = `"${tag}"`;
  return {
    path: `/assets/${file}.${tag}.${type}`,
    handler(ctx: FrontContext): void {
      ctx.set("Cache-Control", "public, max-age=31536000, immutable");
      ctx.set("ETag", etag);
      if (ctx.req.headers["if-none-match"] === etag) {
        ctx.status = 304;
        return;
      }
      ctx.set("Content-Type", TYPES[type]);
      ctx.body = content;
    },
  };
}

/** In this order: later files override. */
const STYLES = ["base", "frame", "forms", "notices", "consent", "account", "wallet", "edges"];

export const STYLE = asset("style", "css", STYLES);
export const MARK = asset("mark", "svg");
/** Keeps forms from being sent twice, where the browser runs scripts. Without it the second form gets the same response. */
export const ONCE_SCRIPT = asset("once", "js");
/** Polls a wallet link, where the browser runs scripts. The page works without it. */
export const WALLET_SCRIPT = asset("wallet", "js");
