import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** The key that limits are counted by: an IPv4 address, or the /64 of an IPv6 address, since one host controls its whole /64. */
export function limitKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [withoutZone = ""] = address.split("%", 1); // RFC 4007 §11; it may be any name of an interface
  const parsed = ipaddr.process(withoutZone);
  if (parsed.kind() === "ipv4") return parsed.toString();
  return `${parsed.toByteArray().slice(0, 8).map(hexByte).join("")}::/64`;
}

const hexByte = (byte: number): string => byte.toString(16).padStart(2, "0");
