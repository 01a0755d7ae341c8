import { hash } from "node:crypto";
import type { HotContext } from "./routes.ts";

/** A document made once and sent as it is. */
export interface PreparedDocument {
  readonly body: string | Buffer;
  readonly contentType: string;
  readonly etag: string;
}

/** A text stays one: it leaves in one write with its headers, which bytes do not. */
export function prepareDocument(body: string | Buffer, contentType: string): PreparedDocument {
  return { body, contentType, etag: `"${hash("sha256", body, "base64url").slice(0, 27)}"` };
}

/**
 * Sends the document, or 304 where the client has it already.
 * @param maxAge seconds for which anyone may keep it; without it every use asks here first
 * @see RFC 9110 §13.1.2
 */
export function sendDocument(ctx: HotContext, { body, contentType, etag }: PreparedDocument, maxAge?: number): void {
  ctx.set("Cache-Control", maxAge === undefined ? "no-cache" : `public, max-age=${maxAge}`);
  ctx.set("ETag", etag);
  if (holds(ctx.req.headers["if-none-match"], etag)) {
    ctx.status = 304;
    return;
  }
  ctx.set("Content-Type", contentType);
  ctx.body = body;
}

/** Weak comparison, as this header wants it. */
const holds = (header: string | undefined, etag: string): boolean =>
  header?.split(",").some((entry) => entry.trim() === "*" || entry.trim().replace(/^W\//, "") === etag) ?? false;
