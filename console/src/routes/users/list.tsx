import { Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { useViewer } from "../../api/viewer.ts";
import { ActButton, act } from "../../components/act.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { DialogForm } from "../../components/form.tsx";
import { type ListSearch, oneOf, sortOf, stateOf } from "../../components/list-search.ts";
import { type Filter, ListTools, STATE_FILTER } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { RealmSelect, useRealms } from "../../components/realm-select.tsx";
import { Section } from "../../components/section.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { LANGUAGE } from "../../environment.ts";
import { shownAgo, T } from "../../texts/texts.ts";

type Row = ManagementOutputs["operator"]["users"]["list"]["users"][number];
type Search = ListSearch<"q" | "sort" | "role" | "enabled">;

const { users: texts } = T;
const SORTS = ["email", "created"] as const;
export const ROLES = ["user", "developer", "operator"] as const;

const FILTERS: readonly Filter[] = [
  { key: "role", label: texts.role, options: ROLES.map((role) => [role, texts.roles[role]]) },
  STATE_FILTER,
];

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "email",
    header: texts.email,
    sortable: true,
    cell: ({ id, email, firstName, lastName }) => (
      <>
        <Link to="/users/$id" params={{ id }} className="row-link foreign">
          {email}
        </Link>
        <Text size="xs" c="dimmed" className="foreign">
          {[firstName, lastName].filter((part) => part !== null).join(" ")}
        </Text>
      </>
    ),
  },
  { id: "role", header: texts.role, tight: true, cell: ({ role }) => texts.roles[role] },
  { id: "verified", header: texts.verified, low: true, cell: ({ emailVerified }) => (emailVerified ? T.common.yes : T.common.no) },
  { id: "created", header: texts.created, sortable: true, low: true, cell: ({ createdAt }) => shownAgo(createdAt) },
  { id: "state", header: texts.state, cell: ({ enabled }) => <StateBadge enabled={enabled} /> },
];

const inputOf = ({ q, sort, role, enabled }: Search) => ({
  ...(q !== undefined && { search: q }),
  ...sortOf(sort, SORTS),
  role: oneOf(ROLES, role),
  enabled: stateOf(enabled),
});

export function UserList() {
  const search: Search = useSearch({ from: "/frame/users" });
  const navigate = useNavigate({ from: "/users" });
  const { can } = useViewer();
  const [isInviting, { open, close }] = useDisclosure(false);
  const input = inputOf(search);
  const pages = usePages(trpc.operator.users.list.queryKey(input), (cursor, signal) =>
    api.operator.users.list.query({ ...input, ...cursor }, { signal }),
  );
  const { sort, ...filters } = search;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.lead}>
        {can.inviteUsers && <Button onClick={open}>{texts.invite}</Button>}
      </PageHead>
      <Invite opened={isInviting} onClose={close} />
      <Invitations />
      <ListTools
        searchLabel={texts.search}
        search={search}
        filters={FILTERS}
        onChange={(members) => void navigate({ search: (before) => ({ ...before, ...members }) as Search, replace: true })}
      />
      <DataTable
        caption={texts.title}
        columns={COLUMNS}
        pages={pages}
        rowsOf={({ users }) => users}
        keyOf={({ id }) => id}
        empty={isFiltered ? { text: texts.noMatch } : { text: texts.empty }}
        sort={sort}
        onSort={(to) => void navigate({ search: (before) => ({ ...before, sort: to }), replace: true })}
      />
    </Stack>
  );
}

/** Invitations that are shown at first, and more at a time: the users are below. */
const FEW = { limit: 5 };

/** Those that wait; nothing when none does. */
function Invitations() {
  const pages = usePages(trpc.operator.invitations.list.queryKey(FEW), (cursor, signal) =>
    api.operator.invitations.list.query({ ...cursor, ...FEW }, { signal }),
  );
  const { realms, byDefault } = useRealms();
  const realmOf = (id: string) => (id === byDefault ? [] : [realms.find((realm) => realm.id === id)?.name ?? id]);
  const waiting = pages.data?.pages.flatMap(({ invitations }) => invitations) ?? [];
  if (pages.data === undefined && pages.error) return <Section title={texts.invitations} of={pages} />;
  if (waiting.length === 0) return null;
  return (
    <Section title={texts.invitations}>
      {waiting.map(({ id, email, role, realmId, expiresAt }) => (
        <Group key={id} justify="space-between">
          <Text className="foreign">
            {email}{" "}
            <Text span c="dimmed">
              {[texts.roles[role], ...realmOf(realmId), texts.expires(shownAgo(expiresAt))].join(" · ")}
            </Text>
          </Text>
          <ActButton
            size="xs"
            variant="default"
            run={() => act(api.operator.invitations.withdraw.mutate({ id }), texts.withdrawn(email))}
            aria-label={texts.withdrawOf(email)}
          >
            {texts.withdraw}
          </ActButton>
        </Group>
      ))}
      {pages.hasNextPage && (
        <Button variant="subtle" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          {texts.moreInvitations}
        </Button>
      )}
    </Section>
  );
}

/** Asks whom to invite, and as what. */
function Invite({ opened, onClose }: { readonly opened: boolean; readonly onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<string>("user");
  const [chosen, setRealm] = useState<string>();
  const { byDefault } = useRealms();
  const send = async (): Promise<boolean> => {
    const realmId = chosen ?? byDefault;
    const invitation = { email: email.trim(), role: oneOf(ROLES, role), realmId, language: LANGUAGE } as const;
    const isSent = await act(api.operator.users.invite.mutate(invitation), texts.invited(invitation.email));
    if (isSent) setEmail((typed) => (typed === email ? "" : typed));
    return isSent;
  };
  return (
    <DialogForm opened={opened} onClose={onClose} title={texts.invite} act={texts.sendInvitation} onSubmit={send}>
      <Text>{texts.inviteText}</Text>
      <TextInput
        type="email"
        required
        label={texts.email}
        value={email}
        onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        data-autofocus
      />
      <NativeSelect
        label={texts.role}
        description={texts.roleMeans[oneOf(ROLES, role) ?? "user"]}
        value={role}
        onChange={({ currentTarget }) => setRole(currentTarget.value)}
        data={ROLES.map((value) => ({ value, label: texts.roles[value] }))}
      />
      <RealmSelect label={texts.realm} value={chosen} onChange={setRealm} />
    </DialogForm>
  );
}
