import { type Clock, secondsSince } from "../clock.ts";

/** Under whose name users are asked. Each member may be left open. */
export interface Branding {
  /** Of the product or company. */
  readonly name?: string | undefined;
  /** An image without logoFault, in base64: settings and records are JSON. */
  readonly logo?: string | undefined;
  /** The colour of buttons and links, without accentFault. */
  readonly accent?: string | undefined;
  readonly termsUrl?: string | undefined;
  readonly privacyUrl?: string | undefined;
  /** An e-mail address, or the URL of a page. */
  readonly support?: string | undefined;
}

/** The name where there is none. */
export const DEFAULT_NAME = "Countersign";

/** Where pages and mails find the branding of a realm. */
export interface Brandings {
  /** Of a realm, and of the deployment where the realm leaves something open. @param realmId undefined: the default realm */
  of(realmId: string | undefined): Branding;
  /** Those that pages of this process may have. */
  all(): readonly Branding[];
  /** The same, read again if that is due. */
  current(): Promise<readonly Branding[]>;
}

/** A branding whose open members, which null are too, are those of another one. Pure. */
export const brandingOver = (own: { readonly [Member in keyof Branding]: Branding[Member] | null }, base: Branding): Branding => {
  const set = Object.entries(own).filter(([, value]) => value !== undefined && value !== null);
  return { ...base, ...Object.fromEntries(set) };
};

export const supportLink = (support: string): string => (support.includes("@") && !support.includes("/") ? `mailto:${support}` : support);

/** Reads what the realms have of their own. `defaultRealm`: the realm of users who are not known yet. */
export type RealmBrandings = () => Promise<{
  readonly byRealm: ReadonlyMap<string, Branding>;
  readonly defaultRealm: string | undefined;
}>;

/** Seconds after which the realms are read again, while pages are asked for. */
const FRESH = 2;

/**
 * Brandings as they were last read: a page of an error needs its own without the database too. The first use after FRESH seconds reads them
 * again, and later pages have the new ones.
 * @param base of the deployment  @param failed reports a read that failed; the last ones stay
 */
export function realmBrandings(
  base: Branding,
  read: RealmBrandings,
  clock: Clock,
  failed: (error: unknown) => void,
): Brandings & { readonly refresh: () => Promise<void> } {
  let byRealm: ReadonlyMap<string, Branding> = new Map();
  let defaultRealm: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let begun = 0;
  let shown = 0;
  const refresh = async (): Promise<void> => {
    readAt = clock();
    begun += 1;
    const turn = begun;
    try {
      const found = await read();
      if (turn < shown) return; // a later read was faster, and may know of a change that this one does not
      shown = turn;
      byRealm = new Map([...found.byRealm].map(([realmId, own]) => [realmId, brandingOver(own, base)]));
      defaultRealm = found.defaultRealm;
    } catch (error) {
      failed(error);
    }
  };
  const isDue = () => secondsSince(clock, readAt) >= FRESH;
  const all = () => [base, ...byRealm.values()];
  return {
    refresh,
    all,
    async current() {
      if (isDue()) await refresh();
      return all();
    },
    of(realmId) {
      if (isDue()) void refresh();
      return byRealm.get(realmId ?? defaultRealm ?? "") ?? base;
    },
  };
}
