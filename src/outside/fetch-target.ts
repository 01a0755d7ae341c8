import { isIP } from "node:net";
import { FetchFailure } from "../clients/guarded-fetch.ts";
import { isLoopbackUrl } from "./public-address.ts";

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
}

const LOCAL_SUFFIXES = [".local", ".internal"];
const isLocalhost = (host: string) => host === "localhost" || host.endsWith(".localhost");

/** Whether a URL names this machine and is allowed to. */
export const mayReachLoopback = ({ hostname, href }: URL, { loopbackAllowed, plainLoopback = false }: TargetRules): boolean =>
  loopbackAllowed && (isLocalhost(hostname) || (plainLoopback && isLoopbackUrl(href)));

/** Parses a URL that may be fetched. Checks the parsed host, in which `0x7f.1` is an IP address. Pure. @throws {FetchFailure} */
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
  const ownTarget = new URL(ownUrl);
  // On a development machine this server and the clients share the name, and differ in the port.
  if (host === ownTarget.hostname && (!loopbackAllowed || target.port === ownTarget.port)) throw new FetchFailure("host_is_our_own");
  return target;
}
