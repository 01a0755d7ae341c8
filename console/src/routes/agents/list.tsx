import { Badge, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { FailureNote } from "../../components/failure.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import type { ListSearch } from "../../components/list-search.ts";
import { ListTools } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { shownAgo, T } from "../../texts/texts.ts";

type Row = ManagementOutputs["operator"]["clients"]["list"]["clients"][number];
type Pauses = ManagementOutputs["operator"]["agents"]["pauses"];

const { agents: texts } = T;

/** By client_id: whether operators paused an agent; undefined where that is not known, as beyond the first page of pauses. */
const pausesOf = ({ pauses, nextCursor }: Pauses) => {
  const paused = new Set(pauses.map(({ agent }) => agent.clientId));
  return (clientId: string): boolean | undefined => paused.has(clientId) || (nextCursor === null ? false : undefined);
};

const columnsOf = (isPaused: (clientId: string) => boolean | undefined): readonly Column<Row>[] => [
  {
    id: "name",
    header: texts.name,
    cell: ({ id, name, clientId }) => (
      <>
        <Link to="/agents/$id" params={{ id }} className="row-link foreign">
          {name}
        </Link>
        <Text size="xs" c="dimmed" className="foreign">
          {clientId}
        </Text>
      </>
    ),
  },
  { id: "mode", header: texts.mode, cell: ({ maxAgentMode }) => texts.modes[maxAgentMode ?? "none"] ?? maxAgentMode },
  {
    id: "used",
    header: texts.lastUsed,
    low: true,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? T.common.never : shownAgo(lastUsedAt)),
  },
  {
    id: "state",
    header: texts.state,
    cell: ({ clientId, enabled }) => <AgentState isPaused={isPaused(clientId)} enabled={enabled} />,
  },
];

/** Nothing while it is not known whether an agent is paused. */
export function AgentState({ isPaused, enabled }: { readonly isPaused: boolean | undefined; readonly enabled: boolean }) {
  if (enabled && isPaused === undefined) return null;
  const [colour, text] = !enabled ? ["gray", T.common.disabled] : isPaused ? ["yellow", texts.paused] : ["teal", texts.active];
  return <Badge color={colour}>{text}</Badge>;
}

const NewAgent = () => (
  <LinkButton to="/clients/new" search={{ kind: "agent" }}>
    {texts.create}
  </LinkButton>
);

export function AgentList() {
  const { q }: ListSearch<"q"> = useSearch({ from: "/frame/agents" });
  const navigate = useNavigate({ from: "/agents" });
  const input = { isAgent: true, ...(q !== undefined && { search: q }) };
  const pages = usePages(trpc.operator.clients.list.queryKey(input), (cursor, signal) =>
    api.operator.clients.list.query({ ...input, ...cursor }, { signal }),
  );
  const pauses = useQuery(trpc.operator.agents.pauses.queryOptions({ userId: null, limit: 200 }));
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.lead}>
        <NewAgent />
      </PageHead>
      <ListTools
        searchLabel={texts.search}
        search={{ q }}
        filters={[]}
        onChange={(members) => void navigate({ search: members as ListSearch<"q">, replace: true })}
      />
      {pauses.data === undefined && pauses.error && <FailureNote error={pauses.error} retry={() => void pauses.refetch()} />}
      <DataTable
        caption={texts.title}
        columns={columnsOf(pauses.data === undefined ? () => undefined : pausesOf(pauses.data))}
        pages={pages}
        rowsOf={({ clients }) => clients}
        keyOf={({ id }) => id}
        empty={q === undefined ? { title: texts.emptyTitle, text: texts.empty, action: <NewAgent /> } : { text: T.clients.noMatch }}
      />
    </Stack>
  );
}
