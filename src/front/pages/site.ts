/** How pages refer to the service. */
export interface Site {
  /** The host in the browser's address bar. */
  readonly host: string;
  /** Whether wallets can be linked. */
  readonly wallets: boolean;
  /** A path below the issuer's path, which may have a query, with the destination of the user. */
  path(path: string, returnTo?: ReturnTo): string;
}

/** @param issuer base URL; links are built from nothing else */
export function siteOf(issuer: string, wallets = false): Site {
  const { host, pathname } = new URL(issuer);
  const base = pathname.replace(/\/$/, "");
  return {
    host,
    wallets,
    path(path, returnTo = {}) {
      const members = returnToMembers(returnTo).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
      return base + path + members.map((member) => (path.includes("?") ? "&" : "?") + member).join("");
    },
  };
}

/** Where a user was going before they had to sign in, sign up or open a mail: an application's pending request, or an account page. */
export interface ReturnTo {
  readonly requestId?: string | undefined;
  /** The path of an account page other than the first. */
  readonly next?: string | undefined;
}

/** The members that pass it on in a query or a form. Pure. */
export function returnToMembers({ requestId, next }: ReturnTo): readonly (readonly [name: string, value: string])[] {
  if (requestId !== undefined) return [["request", requestId]];
  return next === undefined ? [] : [["next", next]];
}
