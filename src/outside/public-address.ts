import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { FetchFailure } from "../clients/guarded-fetch.ts";

/** Special-use IPv4 space (RFC 6890 and its registry). */
const SPECIAL_IPV4 = [
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24",
  "192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
].flatMap((ranges) => ranges.split(" "));

/** Special-use ranges of 2000::/3, and those that contain an IPv4 address (Teredo, 6to4). Everything outside 2000::/3 is refused. */
const SPECIAL_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"];

const listOf = (ranges: readonly string[], family: "ipv4" | "ipv6"): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = "", bits] = range.split("/");
    list.addSubnet(net, Number(bits), family);
  }
  return list;
};

const special4 = listOf(SPECIAL_IPV4, "ipv4");
const special6 = listOf(SPECIAL_IPV6, "ipv6");
const global6 = listOf(["2000::/3"], "ipv6");
const loopback4 = listOf(["127.0.0.0/8"], "ipv4");

const MAPPED = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/** The IPv4 address of an IPv4-mapped IPv6 address (::ffff:0:0/96), else the address itself; undefined for anything else, such as zones. */
function unmapped(address: string): string | undefined {
  if (isIPv4(address)) return address;
  if (!isIPv6(address) || address.includes("%")) return undefined;
  // The URL parser normalizes the address.
  const [, high, low] = MAPPED.exec(URL.parse(`http://[${address}]`)?.hostname ?? "") ?? [];
  if (high === undefined || low === undefined) return address;
  return [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 0xff]).join(".");
}

/** Whether an address belongs to the public internet, rather than to this host or its network. */
export function isPublicAddress(address: string): boolean {
  const plain = unmapped(address);
  if (plain === undefined) return false;
  if (isIPv4(plain)) return !special4.check(plain, "ipv4");
  return global6.check(plain, "ipv6") && !special6.check(plain, "ipv6");
}

/** Addresses of a host's own network and of the host itself; not link-local ones, where clouds answer with credentials. */
const private4 = listOf(["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"], "ipv4");
const private6 = listOf(["::1/128", "fc00::/7"], "ipv6");

/** Whether an address belongs to this host or its network. */
export function isPrivateAddress(address: string): boolean {
  const plain = unmapped(address);
  return plain !== undefined && (isIPv4(plain) ? private4.check(plain, "ipv4") : private6.check(plain, "ipv6"));
}

export function isLoopbackAddress(address: string): boolean {
  const plain = unmapped(address);
  return plain !== undefined && (isIPv4(plain) ? loopback4.check(plain, "ipv4") : URL.parse(`http://[${plain}]`)?.hostname === "[::1]");
}

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
