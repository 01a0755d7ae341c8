import { type ReturnTo, returnToMembers } from "./return-to.ts";

/** The service as its pages speak of it. */
export interface Site {
  /** The host that the person sees in the browser's address bar. */
  readonly host: string;
  /** Whether wallets can be linked, so that there is a page for it. */
  readonly wallets: boolean;
  /** A path of ours below the issuer's own, which may have a query; with where the person is going. */
  path(path: string, way?: ReturnTo): string;
}

/** @param issuer base URL; links are built from nothing else */
export function siteOf(issuer: string, wallets = false): Site {
  const { host, pathname } = new URL(issuer);
  const base = pathname.replace(/\/$/, "");
  return {
    host,
    wallets,
    path(path, way = {}) {
      const members = returnToMembers(way).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
      return base + path + members.map((member) => (path.includes("?") ? "&" : "?") + member).join("");
    },
  };
}
