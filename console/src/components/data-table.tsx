import { Paper, Skeleton, Stack, Table, Text, Title, UnstyledButton } from "@mantine/core";
import { useWindowVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type MouseEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { shownNumber, T } from "../texts/texts.ts";
import { FailureNote } from "./failure.tsx";
import { toggledSort } from "./list-search.ts";

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Whether the server can sort by it. */
  readonly sortable?: boolean;
  /** Left out on a narrow screen. */
  readonly low?: boolean;
  /** Never in two lines. */
  readonly tight?: boolean;
}

/** How many rows there are, as the first page of a list says. The server counts up to a limit. */
interface Total {
  readonly total?: number | null;
  readonly totalIsExact?: boolean;
}

/** Pages of rows, as `useInfiniteQuery` of TanStack Query has them. */
export interface Pages<Page> {
  readonly data: { readonly pages: readonly (Page & Total)[] } | undefined;
  readonly error: unknown;
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
  readonly refetch: () => unknown;
}

export interface DataTableProps<Row, Page> {
  /** What the table lists, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly pages: Pages<Page>;
  readonly rowsOf: (page: Page) => readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly empty: Emptiness;
  /** The order in the address, and how it is changed. */
  readonly sort?: string | undefined;
  readonly onSort?: (sort: string) => void;
}

const ROW_HEIGHT = 45;
/** Rows before the end from which the next page is fetched. */
const AHEAD = 20;
/** By caption: how high the rows were when the list was left, so that a step back arrives at the same ones. */
const heights = new Map<string, VirtualItem[]>();

/** A list of any length: only the rows in sight are in the document, and further pages are fetched as they come near. */
export function DataTable<Row, Page>(props: DataTableProps<Row, Page>) {
  const { pages, rowsOf, empty } = props;
  const rows = pages.data?.pages.flatMap(rowsOf) ?? [];
  if (pages.data === undefined && pages.error) return <FailureNote error={pages.error} retry={() => void pages.refetch()} />;
  if (pages.data !== undefined && rows.length === 0) return <EmptyState {...empty} />;
  return <Rows {...props} rows={rows} isLoading={pages.data === undefined} />;
}

function Rows<Row, Page>({
  rows,
  isLoading,
  ...props
}: DataTableProps<Row, Page> & { readonly rows: readonly Row[]; readonly isLoading: boolean }) {
  const { caption, columns, pages, keyOf, sort, onSort } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  // At each render, as each scrolling makes one: what is above the rows grows and shrinks. offsetTop is measured from the table only.
  useLayoutEffect(() => setTop(Math.round((body.current?.getBoundingClientRect().top ?? 0) + scrollY)));
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    scrollMargin: top,
    initialMeasurementsCache: heights.get(caption) ?? [],
  });
  useEffect(() => () => void heights.set(caption, virtual.takeSnapshot()), [caption, virtual]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  const hasFailed = Boolean(pages.error);
  useEffect(() => {
    // After a failure only the user asks again.
    if (hasNextPage && !isFetchingNextPage && !hasFailed && last >= rows.length - AHEAD) fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, hasFailed, fetchNextPage, last, rows.length]);
  const [before, after] = [(items[0]?.start ?? top) - top, virtual.getTotalSize() - ((items.at(-1)?.end ?? top) - top)];
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed" role="status">
        {isFetchingNextPage || isLoading ? T.common.loading : countText(rows.length, hasNextPage, pages.data?.pages[0])}
      </Text>
      <Table.ScrollContainer minWidth={0} type="native">
        <Table aria-rowcount={hasNextPage ? -1 : rows.length + 1} verticalSpacing="xs" highlightOnHover className="data-table">
          <Table.Caption hidden>{caption}</Table.Caption>
          <Header columns={columns} sort={sort} onSort={onSort} />
          <Table.Tbody ref={body} aria-busy={isLoading}>
            {isLoading && <Placeholders columns={columns} />}
            <Gap height={before} />
            {items.map(({ index }) => {
              const row = rows[index];
              if (row === undefined) return null;
              return (
                <Table.Tr key={keyOf(row)} data-index={index} aria-rowindex={index + 2} ref={virtual.measureElement} onClick={openRow}>
                  {columns.map(({ id, cell, low, tight }) => (
                    <Table.Td key={id} className={`${low ? "low " : ""}${tight ? "tight" : "foreign"}`}>
                      {cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              );
            })}
            <Gap height={after} />
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {pages.error ? <FailureNote error={pages.error} retry={() => void pages.refetch()} /> : null}
    </Stack>
  );
}

const CONTROLS = "a, button, input, label, select";

/**
 * A click anywhere in a row is one on its link of the class `row-link`; with the keyboard the link itself is reached. A cell with other
 * controls is left to them, and a click that ends a selection of text does nothing.
 */
function openRow({ target, currentTarget, nativeEvent }: MouseEvent<HTMLElement>): void {
  if (!(target instanceof Element && currentTarget.contains(target)) || target.closest(CONTROLS)) return; // or in a dialog of the row
  const link = currentTarget.querySelector(".row-link");
  const others = [...(target.closest("td")?.querySelectorAll(CONTROLS) ?? [])].some((control) => control !== link);
  if (others || getSelection()?.isCollapsed === false) return;
  link?.dispatchEvent(new self.MouseEvent("click", nativeEvent));
}

function countText(shown: number, hasMore: boolean, { total, totalIsExact }: Total = {}): string {
  if (typeof total === "number") return T.common.total(shownNumber(total), totalIsExact === false);
  return hasMore ? T.common.shown(shownNumber(shown)) : T.common.total(shownNumber(shown), false);
}

/** Stands for the rows out of sight. */
const Gap = ({ height }: { readonly height: number }) =>
  height > 0 ? (
    <tr>
      <td style={{ height, padding: 0 }} />
    </tr>
  ) : null;

interface HeaderProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

function Header<Row>({ columns, sort, onSort }: HeaderProps<Row>) {
  const direction = (id: string) => (sort === id ? "ascending" : sort === `-${id}` ? "descending" : "none");
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map(({ id, header, sortable, low }) => (
          <Table.Th key={id} className={low ? "low" : ""} {...(sortable && { "aria-sort": direction(id) })}>
            {sortable && onSort !== undefined ? (
              <UnstyledButton fz="sm" fw={700} aria-label={T.common.sortBy(header)} onClick={() => onSort(toggledSort(sort, id))}>
                {header} {{ ascending: "↑", descending: "↓", none: "" }[direction(id)]}
              </UnstyledButton>
            ) : (
              header
            )}
          </Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
  );
}

function Placeholders<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  return [1, 2, 3, 4, 5].map((row) => (
    <Table.Tr key={row}>
      {columns.map(({ id, low }) => (
        <Table.Td key={id} className={low ? "low" : ""}>
          <Skeleton height={20} />
        </Table.Td>
      ))}
    </Table.Tr>
  ));
}

/** Why a list is empty, and what to do next. */
export interface Emptiness {
  readonly title?: string | undefined;
  readonly text: string;
  readonly action?: ReactNode;
}

const EmptyState = ({ title, text, action }: Emptiness) => (
  <Paper withBorder p="xl">
    <Stack align="flex-start">
      {title !== undefined && <Title order={2}>{title}</Title>}
      <Text>{text}</Text>
      {action}
    </Stack>
  </Paper>
);
