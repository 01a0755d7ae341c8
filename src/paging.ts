/** Lists are counted up to this number of items. */
export const TOTAL_LIMIT = 10_000;

export type Order = "asc" | "desc";

/** What narrows a list: values of some members, and a part of the texts in which the list is searched, without regard to case; or an id. */
export type Filter<Item, Member extends keyof Item = never> = {
  readonly [Filtered in Member]?: NonNullable<Item[Filtered]> | undefined;
} & { readonly search?: string | undefined };

/** Which part of a list is wanted, and in which order; the list has a default for both. */
export interface Part<Sort extends string = never> {
  readonly limit: number;
  /** `next` of the page before, with the same sort and order. */
  readonly cursor?: string | undefined;
  readonly sort?: Sort | undefined;
  readonly order?: Order | undefined;
  /** Whether to count the whole list. */
  readonly count?: boolean | undefined;
}

/** A part of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The cursor of the following page; null at the end. */
  readonly next: string | null;
  /** Items of the whole list, one more than TOTAL_LIMIT if there are more than that; null if they were not counted. */
  readonly total: number | null;
}

/**
 * All items of a list, newest first, in parts that are read one after the other: no single statement takes long, however many there are.
 * @param size items of a part that is not the last  @param part reads the items after the one with this id
 */
export async function allInParts<Item extends { readonly id: string }>(
  size: number,
  part: (after: string | null) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (;;) {
    const items = await part(all.at(-1)?.id ?? null);
    all.push(...items);
    if (items.length < size) return all;
  }
}

export const EMPTY_PAGE: Page<never> = { items: [], next: null, total: 0 };
