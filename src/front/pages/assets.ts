import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Refusal } from "../../errors.ts";
import { FOREVER, NOT_KEPT, sendDocument } from "../http/answers.ts";
import type { FrontContext } from "../http/routes.ts";

const TYPES = { css: "text/css; charset=utf-8", svg: "image/svg+xml", js: "text/javascript; charset=utf-8" } as const;

const file = (path: string): URL => new URL(`./assets/${path}`, import.meta.url);

/** A file whose path contains a hash of its content, so that caches may keep it forever. @param parts of it, in this order */
function asset(name: string, type: keyof typeof TYPES, parts: readonly URL[] = [file(`${name}.${type}`)]) {
  const content = Buffer.concat(parts.map((part) => readFileSync(part)));
  const tag = hash("sha256", content, "hex").slice(0, 16);
  return { path: `/assets/${name}.${tag}.${type}`, content, document: { body: content, contentType: TYPES[type], etag: `"${tag}"` } };
}

/** In this order: later files override. */
const STYLES = ["base", "frame", "forms", "notices", "consent", "account", "wallet", "reference", "edges"];
const STYLE_FILES = STYLES.map((name) => file(`style/${name}.css`));

export const STYLE = asset("style", "css", STYLE_FILES);
export const MARK = asset("mark", "svg");
/** On every page, where the browser runs scripts: keeps forms from being sent twice and decisions from double clicks, shows passwords, and local times. */
export const PAGE_SCRIPT = asset("page", "js");
/** Polls a wallet link, where the browser runs scripts. The page works without it. */
export const WALLET_SCRIPT = asset("wallet", "js");
/** Sends requests from the API reference, where the browser runs scripts. The reference is readable without it. */
export const TRY_SCRIPT = asset("try", "js", [file("try/curl.js"), file("try/page.js")]);

const webauthnScript = new URL(
  "../dist/bundle/index.umd.min.js",
  pathToFileURL(createRequire(import.meta.url).resolve("@simplewebauthn/browser")),
);
/** Passkeys, which need scripts. */
export const PASSKEY_SCRIPT = asset("passkey", "js", [webauthnScript, file("passkey/page.js")]);

const ASSETS = [STYLE, MARK, PAGE_SCRIPT, WALLET_SCRIPT, TRY_SCRIPT, PASSKEY_SCRIPT];
export const ASSET_PATH = "/assets/:file";

/** The last hash in a path of these files. */
const TAG = /\.[0-9a-f]{16}(?=\.\w+$)/;

/**
 * Whether two paths name the same file, whatever its content. While an upgrade runs, a page of one release asks for its files at the other:
 * they are answered by that one's content, which is not kept. @see docs/protocol.md#releases-beside-each-other
 */
export const isSameFile = (one: string, other: string): boolean =>
  TAG.test(one) && TAG.test(other) && one.replace(TAG, "") === other.replace(TAG, "");

/** GET /assets/:file. @throws {Refusal} not_found */
export function sendAsset(ctx: FrontContext): void {
  const found = ASSETS.find(({ path }) => isSameFile(path, ctx.path));
  if (found === undefined) throw new Refusal("not_found", "no_such_path");
  sendDocument(ctx, found.document, found.path === ctx.path ? FOREVER : NOT_KEPT);
}
