import { type InfiniteData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";

interface CursorPage {
  readonly nextCursor?: string | null;
  /** How many there are, on the first page. */
  readonly total?: number | null;
  readonly totalIsExact?: boolean;
}

/** Items of each page but the first, which has to come at once. All that were seen are fetched again, one page after the other. */
const MOST = 200;

/**
 * Pages of a list, each after the cursor of the one before. tRPC's own options for infinite queries send a member that the server refuses.
 * @param refetchInterval milliseconds after which the pages are fetched again
 * @param queryKey `trpc.….list.queryKey(input)`, so that invalidating the procedure invalidates its pages
 */
export function usePages<Page extends CursorPage>(
  queryKey: QueryKey,
  fetchPage: (page: { readonly cursor?: string; readonly limit?: number }, signal: AbortSignal) => Promise<Page>,
  refetchInterval?: number,
) {
  return useInfiniteQuery<Page, Error, InfiniteData<Page>, QueryKey, string | undefined>({
    queryKey: [...queryKey, "pages"],
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam === undefined ? {} : { cursor: pageParam, limit: MOST }, signal),
    initialPageParam: undefined,
    ...(refetchInterval !== undefined && { refetchInterval }),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
}
