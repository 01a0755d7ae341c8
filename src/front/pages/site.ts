/** How pages refer to the service. */
export type Site = Readonly<ReturnType<typeof siteOf>>;

/** @param issuer base URL; links are built from nothing else  @param wallets whether wallets can be linked */
export function siteOf(issuer: string, wallets = false) {
  const { host, pathname } = new URL(issuer);
  const base = pathname.replace(/\/$/, "");
  return {
    host,
    wallets,
    /** A path below the issuer's path, which may have a query, with the destination of the user. */
    path(path: string, returnTo: ReturnTo = {}): string {
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
