import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { useViewer } from "../../api/viewer.ts";
import { ActButton, act } from "../../components/act.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { FailureNote } from "../../components/failure.tsx";
import { shownAgo, shownMoment, shownNumber, T } from "../../texts/texts.ts";
import type { ClientPart } from "./client-part.ts";

const { consents: texts } = T.clients;
type Row = ManagementOutputs["operator"]["consents"]["ofClient"]["consents"][number];

/** Who allowed what to a client. Developers see how many did. */
export function ClientConsents({ client }: ClientPart) {
  const { isOperator } = useViewer();
  return isOperator ? <AllConsents clientId={client.clientId} name={client.name} /> : <Counts id={client.id} />;
}

function Counts({ id }: { readonly id: string }) {
  const { data, error } = useQuery(trpc.clients.consents.queryOptions({ id }));
  if (error) return <FailureNote error={error} />;
  return <Text>{data === undefined ? T.common.loading : texts.counts(shownNumber(data.total), shownNumber(data.usedLately))}</Text>;
}

/** For operators. */
export function AllConsents({ clientId, name }: { readonly clientId: string; readonly name: string }) {
  const pages = usePages(trpc.operator.consents.ofClient.queryKey({ clientId }), (cursor, signal) =>
    api.operator.consents.ofClient.query({ clientId, ...cursor }, { signal }),
  );
  return (
    <DataTable
      caption={texts.tab}
      columns={columnsOf(name)}
      pages={pages}
      rowsOf={({ consents }) => consents}
      keyOf={({ id }) => id}
      empty={{ text: texts.empty }}
    />
  );
}

/** @param name of the client */
const columnsOf = (name: string): readonly Column<Row>[] => [
  {
    id: "user",
    header: texts.user,
    cell: ({ userId, email }) => (
      <Link to="/users/$id" params={{ id: userId }} className="row-link foreign">
        {email}
      </Link>
    ),
  },
  { id: "what", header: texts.what, low: true, cell: ({ scopes, resources }) => [...scopes, ...resources].join(" · ") },
  {
    id: "since",
    header: texts.since,
    low: true,
    cell: ({ createdAt }) => <span title={shownMoment(createdAt)}>{shownAgo(createdAt)}</span>,
  },
  {
    id: "used",
    header: T.clients.lastUsed,
    low: true,
    tight: true,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? T.common.never : shownAgo(lastUsedAt)),
  },
  {
    id: "act",
    header: T.keys.acts,
    tight: true,
    cell: ({ id, userId, email }) => (
      <ActButton
        size="xs"
        variant="default"
        question={{
          title: T.users.removeAccessOf(name),
          consequences: [texts.revokeMeans(email), T.users.cannotBeUndone],
          act: T.users.removeAccess,
        }}
        run={() => act(api.operator.consents.revoke.mutate({ userId, id }), T.users.accessRemoved)}
        aria-label={`${T.users.removeAccess}: ${email}`}
      >
        {T.users.removeAccess}
      </ActButton>
    ),
  },
];
