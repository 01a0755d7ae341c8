import { type InfiniteData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";

interface CursorPage {
  readonly nextCursor?: string | null;
  /** How many there are, on the first page. */
  readonly total?: number | null;
  readonly totalIsExact?: boolean;
}

/**
 * Pages of a list, each after the cursor of the one before. tRPC's own options for infinite queries send a member that the server refuses.
 * @param refetchInterval milliseconds after which the pages are fetched again
 * @param queryKey `trpc.….list.queryKey(input)`, so that invalidating the procedure invalidates its pages
 */
export function usePages<Page extends CursorPage>(
  queryKey: QueryKey,
  fetchPage: (cursor: { readonly cursor?: string }, signal: AbortSignal) => Promise<Page>,
  refetchInterval?: number,
) {
  return useInfiniteQuery<Page, Error, InfiniteData<Page>, QueryKey, string | undefined>({
    queryKey: [...queryKey, "pages"],
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam === undefined ? {} : { cursor: pageParam }, signal),
    initialPageParam: undefined,
    ...(refetchInterval !== undefined && { refetchInterval }),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
}
