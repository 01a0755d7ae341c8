/** Lists are counted up to this number of items. */
export const TOTAL_LIMIT = 10_000;

export type Order = "asc" | "desc";

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

export const EMPTY_PAGE: Page<never> = { items: [], next: null, total: 0 };
