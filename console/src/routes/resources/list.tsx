import { Stack, Text } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { type ListSearch, oneOf, sortOf, stateOf } from "../../components/list-search.ts";
import { type Filter, ListTools, STATE_FILTER } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { T } from "../../texts/texts.ts";

const { resources: texts } = T;

type Row = ManagementOutputs["operator"]["resources"]["list"]["resources"][number];
type Search = ListSearch<"q" | "sort" | "origin" | "enabled">;

const SORTS = ["name"] as const;
const ORIGINS = ["operator", "file", "discovered"] as const;
const FILTERS: readonly Filter[] = [
  { key: "origin", label: texts.origin, options: ORIGINS.map((origin) => [origin, texts.origins[origin]]) },
  STATE_FILTER,
];

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "name",
    header: T.clients.name,
    sortable: true,
    cell: ({ name, resource }) => (
      <>
        <Link to="/resources/view" search={{ uri: resource }} className="row-link">
          <bdi>{name}</bdi>
        </Link>
        <Text size="xs" c="dimmed" component="div">
          {resource}
        </Text>
      </>
    ),
  },
  {
    id: "scopes",
    header: T.clients.create.scopes,
    low: true,
    cell: ({ scopes }) => scopes.map(({ name }) => name).join(" ") || T.common.none,
  },
  { id: "origin", header: texts.origin, low: true, cell: ({ origin }) => texts.origins[origin] },
  {
    id: "enabled",
    header: T.clients.state,
    cell: ({ enabled }) => <StateBadge enabled={enabled} />,
  },
];

const inputOf = ({ q, sort, origin, enabled }: Search) => ({
  ...(q !== undefined && { search: q }),
  ...sortOf(sort, SORTS),
  origin: oneOf(ORIGINS, origin),
  enabled: stateOf(enabled),
});

const AddButton = () => <LinkButton to="/resources/new">{texts.add}</LinkButton>;

export function ResourceList() {
  const search: Search = useSearch({ from: "/frame/resources" });
  const navigate = useNavigate({ from: "/resources" });
  const { sort, ...filters } = search;
  const input = inputOf(search);
  const pages = usePages(trpc.operator.resources.list.queryKey(input), (cursor, signal) =>
    api.operator.resources.list.query({ ...input, ...cursor }, { signal }),
  );
  const change = (members: Search) => void navigate({ search: (before) => ({ ...before, ...members }) as Search, replace: true });
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.empty}>
        <AddButton />
      </PageHead>
      <ListTools searchLabel={texts.search} search={search} filters={FILTERS} onChange={change} />
      <DataTable
        caption={texts.title}
        columns={COLUMNS}
        pages={pages}
        rowsOf={({ resources }) => resources}
        keyOf={({ id }) => id}
        sort={sort}
        onSort={(to) => change({ sort: to })}
        empty={
          Object.keys(filters).length > 0 ? { text: texts.noMatch } : { title: texts.emptyTitle, text: texts.empty, action: <AddButton /> }
        }
      />
    </Stack>
  );
}
