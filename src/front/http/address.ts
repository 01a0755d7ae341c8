import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Caller } from "../../accounts/caller.ts";
import { limitKey } from "../../protocol/limit-key.ts";
import { languageOf } from "./language.ts";
import type { FrontContext } from "./routes.ts";

/** The client's address, behind a trusted proxy as `forwardedAddress` says. */
export function clientAddress(req: IncomingMessage, trustProxy: boolean): string {
  const peer = unmapped(req.socket.remoteAddress ?? "");
  return trustProxy ? forwardedAddress(peer, req.headers["x-forwarded-for"]) : peer;
}

/**
 * The last address of X-Forwarded-For: a trusted proxy adds it, so a client cannot choose it.
 * @param peer address of the connection, which counts where the header has none
 */
export function forwardedAddress(peer: string, forwarded: string | readonly string[] | undefined): string {
  const list = typeof forwarded === "string" ? forwarded : (forwarded ?? []).join(",");
  const last = unmapped(withoutPort(list.slice(list.lastIndexOf(",") + 1).trim()));
  return isIP(last) === 0 ? peer : last;
}

/** Some proxies add the port, and write IPv6 addresses in brackets (RFC 7239 §6). */
const withoutPort = (node: string): string => {
  const [, ipv6, ipv4] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(node) ?? [];
  return ipv6 ?? ipv4 ?? node;
};

const unmapped = (address: string): string => (address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address);

/** Request headers in which a proxy describes its caller (RFC 7239, and the older ones). */
const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"] as const;

/** Whether a request came through a proxy, or claims so. */
export function hasForwardedHeaders({ headers }: IncomingMessage): boolean {
  for (const name of FORWARDED) if (headers[name] !== undefined) return true;
  return false;
}

/** The caller, for limits, audit records and mails. */
export const callerOf = (ctx: FrontContext): Caller => ({
  address: ctx.state.address,
  limitKey: limitKey(ctx.state.address),
  requestId: ctx.state.requestId,
  userAgent: ctx.req.headers["user-agent"] ?? "",
  language: languageOf(ctx),
});
