import { type Branding, type Brandings, brandingOver } from "./branding.ts";

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
  clock: () => number,
  failed: (error: unknown) => void,
): Brandings & { readonly refresh: () => Promise<void> } {
  let known: Awaited<ReturnType<RealmBrandings>> = { byRealm: new Map(), defaultRealm: undefined };
  let readAt = Number.NEGATIVE_INFINITY;
  const refresh = async (): Promise<void> => {
    readAt = clock();
    try {
      known = await read();
    } catch (error) {
      failed(error);
    }
  };
  const isDue = () => clock() >= readAt + FRESH;
  const all = () => [base, ...[...known.byRealm.values()].map((own) => brandingOver(own, base))];
  return {
    refresh,
    all,
    async current() {
      if (isDue()) await refresh();
      return all();
    },
    of(realmId) {
      if (isDue()) void refresh();
      const own = known.byRealm.get(realmId ?? known.defaultRealm ?? "");
      return own === undefined ? base : brandingOver(own, base);
    },
  };
}
