import { Stack, Text } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { type ListSearch, sortOf, stateOf } from "../../components/list-search.ts";
import { ListTools, STATE_FILTER } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { T } from "../../texts/texts.ts";

const { connections: texts } = T;

type Row = ManagementOutputs["operator"]["connections"]["list"]["connections"][number];
type Search = ListSearch<"q" | "sort" | "enabled">;

const SORTS = ["name"] as const;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "name",
    header: texts.provider,
    sortable: true,
    cell: ({ name, title, issuer }) => (
      <>
        <Link to="/connections/view" search={{ name }} className="row-link">
          <bdi>{title}</bdi> ({name})
        </Link>
        <Text size="xs" c="dimmed" className="foreign">
          {issuer}
        </Text>
      </>
    ),
  },
  { id: "domains", header: texts.domains, low: true, cell: ({ domains }) => domains.join(" ") || T.common.none },
  { id: "state", header: T.common.state, cell: ({ enabled }) => <StateBadge enabled={enabled} /> },
];

const AddButton = () => <LinkButton to="/connections/new">{texts.add}</LinkButton>;

/** Identity providers that users sign in by. */
export function ConnectionList() {
  const search: Search = useSearch({ from: "/frame/connections" });
  const navigate = useNavigate({ from: "/connections" });
  const { q, sort, enabled } = search;
  const input = { ...(q !== undefined && { search: q }), ...sortOf(sort, SORTS), enabled: stateOf(enabled) };
  const pages = usePages(trpc.operator.connections.list.queryKey(input), (cursor, signal) =>
    api.operator.connections.list.query({ ...input, ...cursor }, { signal }),
  );
  const change = (members: Search) => void navigate({ search: (before) => ({ ...before, ...members }) as Search, replace: true });
  const isFiltered = q !== undefined || enabled !== undefined;
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.lead}>
        <AddButton />
      </PageHead>
      <ListTools searchLabel={texts.search} search={search} filters={[STATE_FILTER]} onChange={change} />
      <DataTable
        caption={texts.title}
        columns={COLUMNS}
        pages={pages}
        rowsOf={({ connections }) => connections}
        keyOf={({ name }) => name}
        sort={sort}
        onSort={(to) => change({ sort: to })}
        empty={isFiltered ? { text: texts.noMatch } : { title: texts.emptyTitle, text: texts.empty, action: <AddButton /> }}
      />
    </Stack>
  );
}
