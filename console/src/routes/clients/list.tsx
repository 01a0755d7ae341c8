import { Stack, Text } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { now } from "../../api/clock.ts";
import { usePages } from "../../api/pages.ts";
import { useViewer } from "../../api/viewer.ts";
import { ClientLink, isDocumentClient } from "../../components/client-link.tsx";
import { type Column, DataTable, type Pages } from "../../components/data-table.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { type ListSearch, oneOf, sortOf, stateOf } from "../../components/list-search.ts";
import { type Filter, ListTools, STATE_FILTER } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { UserName } from "../../components/user-name.tsx";
import { shownAgo, T } from "../../texts/texts.ts";
import { Deletion, useChoice } from "./deletion.tsx";

type Page = ManagementOutputs["operator"]["clients"]["list"];
type Row = ManagementOutputs["clients"]["list"]["clients"][number] & Partial<Page["clients"][number]>;

const ORIGINS = ["operator", "developer", "dynamic", "built_in"] as const;
const SORTS = ["name", "lastUsed", "created"] as const;
const ENVIRONMENTS = ["development", "staging", "production"] as const;

const { clients: texts } = T;
/** What developers have, too. */
const OWN_FILTERS: readonly Filter[] = [
  { key: "environment", label: texts.environment, options: ENVIRONMENTS.map((value) => [value, T.common.environment[value] ?? value]) },
  STATE_FILTER,
];
const FILTERS: readonly Filter[] = [
  { key: "origin", label: texts.origin, options: ORIGINS.map((value) => [value, texts.origins[value] ?? value]) },
  ...OWN_FILTERS,
  { key: "unused", label: texts.use, options: [["90", texts.unused]] },
];

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "name",
    header: texts.name,
    sortable: true,
    cell: ({ id, name, clientId }) => (
      <>
        <Link to="/clients/$id" params={{ id }} className="row-link">
          <bdi>{name}</bdi>
        </Link>
        <Text size="xs" c="dimmed" component="div">
          {clientId}
        </Text>
      </>
    ),
  },
  {
    id: "origin",
    header: texts.origin,
    low: true,
    cell: ({ origin, ownerId }) => (
      <>
        {texts.origins[origin ?? "developer"] ?? origin}
        {ownerId && (
          <Text size="xs" c="dimmed" component="div">
            <UserName id={ownerId} />
          </Text>
        )}
      </>
    ),
  },
  {
    id: "environment",
    header: texts.environment,
    low: true,
    cell: ({ environment }) => T.common.environment[environment ?? ""] ?? "–",
  },
  {
    id: "lastUsed",
    header: texts.lastUsed,
    sortable: true,
    low: true,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? T.common.never : shownAgo(lastUsedAt)),
  },
  {
    id: "enabled",
    header: texts.state,
    cell: ({ enabled }) => <StateBadge enabled={enabled} />,
  },
];

type Search = ListSearch<"q" | "sort" | "origin" | "environment" | "enabled" | "unused">;

/** Milliseconds without use after which a registration counts as dead. */
const DEAD = 90 * 86_400_000;
/** From the start of the day, so that the key of the query stays the same. */
const longAgo = (): number => Math.floor((now() - DEAD) / 86_400_000) * 86_400_000;

const ownInput = ({ q, sort, environment, enabled }: Search) => ({
  ...(q !== undefined && { search: q }),
  ...sortOf(sort, SORTS),
  environment: oneOf(ENVIRONMENTS, environment),
  enabled: stateOf(enabled),
});

const inputOf = ({ origin, unused, ...search }: Search) => ({
  ...ownInput(search),
  ...(unused !== undefined && { unusedSince: longAgo() }),
  origin: oneOf(ORIGINS, origin),
});

function CreateButton() {
  const { can } = useViewer();
  return can.createClients && <LinkButton to="/clients/new">{texts.create.open}</LinkButton>;
}

export function ClientList() {
  const { isKnown, isOperator } = useViewer();
  const search = useSearch({ from: "/frame/clients" });
  const navigate = useNavigate({ from: "/clients" });
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.empty}>
        <CreateButton />
      </PageHead>
      {isKnown && (
        <>
          <ListTools
            searchLabel={texts.search}
            search={search}
            filters={isOperator ? FILTERS : OWN_FILTERS}
            onChange={(members) => void navigate({ search: (before) => ({ ...before, ...members }) as Search, replace: true })}
          />
          {isOperator ? <AllClients search={search} /> : <OwnClients search={search} />}
        </>
      )}
    </Stack>
  );
}

function AllClients({ search }: { readonly search: Search }) {
  const input = inputOf(search);
  const pages = usePages(trpc.operator.clients.list.queryKey(input), (cursor, signal) =>
    api.operator.clients.list.query({ ...input, ...cursor }, { signal }),
  );
  const { chosen, setChosen, column } = useChoice();
  const { unused } = search;
  const shown = pages.data?.pages.flatMap(({ clients }) => clients) ?? [];
  return (
    <>
      {unused !== undefined && <Deletion clients={shown} chosen={chosen} onChoose={setChosen} unusedSince={longAgo()} />}
      <Clients pages={pages} columns={unused === undefined ? COLUMNS : [column<Row>(), ...COLUMNS]} search={search} />
    </>
  );
}

/** A developer's own clients. */
function OwnClients({ search }: { readonly search: Search }) {
  const input = ownInput(search);
  const pages = usePages(trpc.clients.list.queryKey(input), (cursor, signal) =>
    api.clients.list.query({ ...input, ...cursor }, { signal }),
  );
  return <Clients pages={pages} columns={COLUMNS} search={search} />;
}

interface ClientsProps {
  readonly pages: Pages<{ readonly clients: readonly Row[] }>;
  readonly columns: readonly Column<Row>[];
  readonly search: Search;
}

/** For operators: the way to a client of a metadata document, which lists do not have. */
const documentOf = (sought = ""): ReactNode => isDocumentClient(sought) && <ClientLink clientId={sought}>{texts.document.open}</ClientLink>;

function Clients({ search: { sort, ...filters }, ...list }: ClientsProps) {
  const navigate = useNavigate({ from: "/clients" });
  const { isOperator } = useViewer();
  return (
    <DataTable
      caption={texts.title}
      {...list}
      rowsOf={({ clients }) => clients}
      keyOf={({ id }) => id}
      sort={sort}
      onSort={(to) => void navigate({ search: (before) => ({ ...before, sort: to }), replace: true })}
      empty={
        Object.keys(filters).length > 0
          ? { text: texts.noMatch, action: isOperator && documentOf(filters.q) }
          : { title: texts.emptyTitle, text: texts.empty, action: <CreateButton /> }
      }
    />
  );
}
