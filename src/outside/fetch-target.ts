import { isIP } from "node:net";
import { FetchFailure } from "../clients/guarded-fetch.ts";
import { isLoopbackUrl } from "./public-address.ts";

export interface TargetRules {
  /** Our own base URL: we never fetch from ourselves. */
  readonly ownUrl: string;
  /**
   * In development alone: this machine may be asked by the name `localhost`, or one below it. Ourselves still not, nor an address that is
   * written as one, nor another name that resolves to loopback: its owner could choose what on this machine is asked.
   */
  readonly loopbackAllowed: boolean;
  /** With the former, for issuers that the operator named: this machine may be asked by http too, and by its address. */
  readonly plainLoopback?: boolean;
}

const LOCAL_SUFFIXES = [".local", ".internal"];
const isLocalhost = (host: string) => host === "localhost" || host.endsWith(".localhost");

/** Whether a URL leads to this machine by its own words, and may: `localhost`, and for issuers that the operator named also an address. */
export const mayReachLoopback = ({ hostname, href }: URL, { loopbackAllowed, plainLoopback = false }: TargetRules): boolean =>
  loopbackAllowed && (isLocalhost(hostname) || (plainLoopback && isLoopbackUrl(href)));

/**
 * The parsed form of an URL that may be asked, judged by its parsed host: the parser turns `0x7f.1`, `2130706433` and circled digits into
 * the address that they mean. Pure.
 * @throws {FetchFailure}
 */
export function fetchTarget(url: string, { ownUrl, loopbackAllowed, plainLoopback = false }: TargetRules): URL {
  const target = URL.parse(url);
  if (target === null) throw new FetchFailure("url_malformed");
  const plain = plainLoopback && loopbackAllowed && isLoopbackUrl(url);
  if (target.protocol !== "https:" && !(plain && target.protocol === "http:")) throw new FetchFailure("scheme_not_https");
  if (target.username !== "" || target.password !== "") throw new FetchFailure("userinfo_in_url");
  const host = target.hostname;
  if ((host.startsWith("[") || isIP(host) !== 0) && !plain) throw new FetchFailure("host_is_an_address");
  if (host === "" || host.endsWith(".")) throw new FetchFailure("host_malformed");
  if (LOCAL_SUFFIXES.some((suffix) => host.endsWith(suffix)) || (isLocalhost(host) && !loopbackAllowed)) {
    throw new FetchFailure("host_is_local");
  }
  const own = new URL(ownUrl);
  // On one development machine we and the clients share the name: there the port tells us apart.
  if (host === own.hostname && (!loopbackAllowed || target.port === own.port)) throw new FetchFailure("host_is_our_own");
  return target;
}
