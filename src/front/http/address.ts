import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Caller } from "../../accounts/caller.ts";
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

/** The key that limits are counted by: an IPv4 address, or the /64 of an IPv6 address, since one host controls its whole /64. */
export function limitKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [withoutZone = ""] = address.split("%", 1); // RFC 4007 §11; it may be any name of an interface
  const parsed = ipaddr.process(withoutZone);
  if (parsed.kind() === "ipv4") return parsed.toString();
  return `${parsed.toByteArray().slice(0, 8).map(hexByte).join("")}::/64`;
}

/** Some proxies add the port, and write IPv6 addresses in brackets (RFC 7239 §6). */
const withoutPort = (node: string): string => {
  const [, ipv6, ipv4] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(node) ?? [];
  return ipv6 ?? ipv4 ?? node;
};

const hexByte = (byte: number): string => byte.toString(16).padStart(2, "0");

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
