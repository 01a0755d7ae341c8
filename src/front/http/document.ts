import { hash } from "node:crypto";
import type { HotContext } from "./routes.ts";

/** A document that is made once and sent unchanged. */
export interface PreparedDocument {
  readonly body: string | Buffer;
  readonly contentType: string;
  readonly etag: string;
}

/** A text is kept as text: Node sends it in one write with its headers, which it does not do for bytes. */
export function prepareDocument(body: string | Buffer, contentType: string): PreparedDocument {
  return { body, contentType, etag: `"${hash("sha256", body, "base64url").slice(0, 27)}"` };
}

/**
 * Sends the document, or 304 where the client already has it.
 * @param maxAge seconds for which caches may keep it; without it they revalidate at each use
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

/** Weak comparison, as the header requires. */
const holds = (header: string | undefined, etag: string): boolean =>
  header?.split(",").some((entry) => entry.trim() === "*" || entry.trim().replace(/^W\//, "") === etag) ?? false;
