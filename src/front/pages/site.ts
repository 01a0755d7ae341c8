/** The service as its pages speak of it. */
export interface Site {
  /** The host that the person sees in the browser's address bar. */
  readonly host: string;
  /** Whether wallets can be linked, so that there is a page for it. */
  readonly wallets: boolean;
  /** A path of ours below the issuer's own; with the id of the authorization request that waits, if one does. */
  path(path: string, requestId?: string): string;
}

/** @param issuer base URL; links are built from nothing else */
export function siteOf(issuer: string, wallets = false): Site {
  const { host, pathname } = new URL(issuer);
  const base = pathname.replace(/\/$/, "");
  return {
    host,
    wallets,
    path: (path, requestId) => base + path + (requestId === undefined ? "" : `?request=${encodeURIComponent(requestId)}`),
  };
}
