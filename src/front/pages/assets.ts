import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { FOREVER, sendDocument } from "../http/answers.ts";
import type { FrontContext } from "../http/routes.ts";

const TYPES = { css: "text/css; charset=utf-8", svg: "image/svg+xml", js: "text/javascript; charset=utf-8" } as const;

const file = (path: string): URL => new URL(`./assets/${path}`, import.meta.url);

/** A file whose path contains a hash of its content, so that caches may keep it forever. @param parts of it, in this order */
function asset(name: string, type: keyof typeof TYPES, parts: readonly URL[] = [file(`${name}.${type}`)]) {
  const content = Buffer.concat(parts.map((part) => readFileSync(part)));
  const tag = hash("sha256", content, "hex").slice(0, 16);
  const document = { body: content, contentType: TYPES[type], etag: `"${tag}"` };
  return { path: `/assets/${name}.${tag}.${type}`, content, handler: (ctx: FrontContext) => sendDocument(ctx, document, FOREVER) };
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

const webauthnScript = new URL(
  "../dist/bundle/index.umd.min.js",
  pathToFileURL(createRequire(import.meta.url).resolve("@simplewebauthn/browser")),
);
/** Passkeys, which need scripts. */
export const PASSKEY_SCRIPT = asset("passkey", "js", [webauthnScript, file("passkey/page.js")]);
