import type { IncomingMessage } from "node:http";

/** Request headers by which a proxy describes its own caller (RFC 7239, and the ones in use before it). */
const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"] as const;

/** Whether a request came through a proxy, or pretends so. */
export const hasForwardedHeaders = ({ headers }: IncomingMessage): boolean => FORWARDED.some((name) => headers[name] !== undefined);
