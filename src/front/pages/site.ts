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

/**
 * Where a person was going when she was sent to sign in, to sign up or to her mail: an application's request that waits, or a page of her
 * own.
 */
export interface ReturnTo {
  readonly requestId?: string | undefined;
  /** The path of one of her own pages, other than the first. */
  readonly next?: string | undefined;
}

/** The members of a query or a form that carry it on. Pure. */
export function returnToMembers({ requestId, next }: ReturnTo): readonly (readonly [name: string, value: string])[] {
  if (requestId !== undefined) return [["request", requestId]];
  return next === undefined ? [] : [["next", next]];
}
