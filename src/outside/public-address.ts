import { isIP, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { FetchFailure } from "../clients/guarded-fetch.ts";

/** The range of an address, that of an IPv4-mapped IPv6 address by its IPv4 address; undefined for anything else, such as zones. */
function rangeOf(address: string): string | undefined {
  if (isIP(address) === 0 || address.includes("%")) return undefined;
  // The URL parser normalizes the address: the library takes ::127.0.0.1 for an IPv4-mapped one.
  const parsed = ipaddr.process(isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address);
  // Outside of 2000::/3 no IPv6 address is public, whatever its range is called.
  return parsed.kind() === "ipv6" && parsed.range() === "unicast" && !parsed.match(GLOBAL) ? "reserved" : parsed.range();
}

const GLOBAL = ipaddr.parseCIDR("2000::/3");

/** Whether an address belongs to the public internet, rather than to this host or its network, or to a special use (RFC 6890). */
export const isPublicAddress = (address: string): boolean => rangeOf(address) === "unicast";

/** Of a host's own network and of the host itself; not link-local ones, where clouds answer with credentials. */
const PRIVATE: readonly unknown[] = ["private", "carrierGradeNat", "loopback", "uniqueLocal"];

/** Whether an address belongs to this host or its network. */
export const isPrivateAddress = (address: string): boolean => PRIVATE.includes(rangeOf(address));

export const isLoopbackAddress = (address: string): boolean => rangeOf(address) === "loopback";

/** Whether a listener at this host can be reached from this machine only. @param host as in HOST: an address or a name */
export const isLoopbackHost = (host: string): boolean => host === "localhost" || isLoopbackAddress(host);

/** Whether a URL names this machine. */
export const isLoopbackUrl = (url: string): boolean => {
  const hostname = URL.parse(url)?.hostname.replace(/^\[|\]$/g, "");
  return hostname !== undefined && isLoopbackHost(hostname);
};

export interface TargetRules {
  /** Base URL of this server, which is never fetched from. */
  readonly ownUrl: string;
  /**
   * In development only: allows this machine, except this server, as `localhost` or a name below it. The owner of any other name that
   * resolves to loopback could choose what is fetched from this machine.
   */
  readonly loopbackAllowed: boolean;
  /** Together with `loopbackAllowed`, for issuers that the operator configured: also allows http, and a loopback address. */
  readonly plainLoopback?: boolean;
  /** For addresses that the operator configured and allowed to be private: also allows this host's network, under any name. */
  readonly privateAllowed?: boolean;
}

const LOCAL_SUFFIXES = [".local", ".internal"];
const isLocalhost = (host: string) => host === "localhost" || host.endsWith(".localhost");

/** Whether a URL names this machine and is allowed to. */
export const mayReachLoopback = ({ hostname, href }: URL, { loopbackAllowed, plainLoopback = false }: TargetRules): boolean =>
  loopbackAllowed && (isLocalhost(hostname) || (plainLoopback && isLoopbackUrl(href)));

/** Parses a URL that may be fetched. Checks the parsed host, in which `0x7f.1` is an IP address. Pure. @throws {FetchFailure} */
export function fetchTarget(url: string, { ownUrl, loopbackAllowed, plainLoopback = false, privateAllowed = false }: TargetRules): URL {
  const target = URL.parse(url);
  if (target === null) throw new FetchFailure("url_malformed");
  const plain = plainLoopback && loopbackAllowed && isLoopbackUrl(url);
  if (target.protocol !== "https:" && !(plain && target.protocol === "http:")) throw new FetchFailure("scheme_not_https");
  if (target.username !== "" || target.password !== "") throw new FetchFailure("userinfo_in_url");
  const host = target.hostname;
  const permittedAddress = plain || (privateAllowed && isPrivateAddress(host.replace(/^\[|\]$/g, "")));
  if ((host.startsWith("[") || isIP(host) !== 0) && !permittedAddress) throw new FetchFailure("host_is_an_address");
  if (host === "" || host.endsWith(".")) throw new FetchFailure("host_malformed");
  const isLocalName = !privateAllowed && LOCAL_SUFFIXES.some((suffix) => host.endsWith(suffix));
  if (isLocalName || (isLocalhost(host) && !loopbackAllowed)) throw new FetchFailure("host_is_local");
  const ownTarget = new URL(ownUrl);
  // On a development machine this server and the clients share the name, and differ in the port.
  if (host === ownTarget.hostname && (!loopbackAllowed || target.port === ownTarget.port)) throw new FetchFailure("host_is_our_own");
  return target;
}
