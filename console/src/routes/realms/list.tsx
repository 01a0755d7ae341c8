import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, type ManagementOutputs, refresh, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { FailureNote } from "../../components/failure.tsx";
import { Form } from "../../components/form.tsx";
import { type ListSearch, sortOf } from "../../components/list-search.ts";
import { ListTools } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { T } from "../../texts/texts.ts";

const { realms: texts } = T;

type Row = ManagementOutputs["operator"]["realms"]["list"]["realms"][number];
type Search = ListSearch<"q" | "sort">;

const SORTS = ["name"] as const;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "name",
    header: texts.name,
    sortable: true,
    cell: ({ id, name }) => (
      <Link to="/realms/$id" params={{ id }} className="row-link">
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  {
    id: "registration",
    header: texts.registration,
    low: true,
    cell: ({ dynamicRegistrationScopes: scopes }) => (scopes === null ? texts.inherited : scopes.join(" ") || T.common.none),
  },
];

/** Realms, each with its own sign-in demands, registration and branding. */
export function RealmList() {
  const search: Search = useSearch({ from: "/frame/realms" });
  const navigate = useNavigate({ from: "/realms" });
  const { q, sort } = search;
  const input = { ...(q !== undefined && { search: q }), ...sortOf(sort, SORTS) };
  const pages = usePages(trpc.operator.realms.list.queryKey(input), (cursor, signal) =>
    api.operator.realms.list.query({ ...input, ...cursor }, { signal }),
  );
  const change = (members: Search) => void navigate({ search: (before) => ({ ...before, ...members }) as Search, replace: true });
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.lead} />
      <NewRealm />
      <ListTools searchLabel={texts.search} search={search} filters={[]} onChange={change} />
      <DataTable
        caption={texts.title}
        columns={COLUMNS}
        pages={pages}
        rowsOf={({ realms }) => realms}
        keyOf={({ id }) => id}
        sort={sort}
        onSort={(to) => change({ sort: to })}
        empty={{ text: texts.noMatch }}
      />
    </Stack>
  );
}

function NewRealm() {
  const [name, setName] = useState("");
  const creation = useMutation({
    mutationFn: (sent: string) => api.operator.realms.create.mutate({ name: sent }),
    onSuccess: (_, sent) => {
      setName((typed) => (typed === sent ? "" : typed));
      return refresh({ queryKey: trpc.operator.realms.pathKey() });
    },
  });
  return (
    <Form onSubmit={() => creation.mutate(name)}>
      <Stack maw="30rem">
        <Group align="end">
          <TextInput label={texts.newName} required value={name} onChange={({ currentTarget }) => setName(currentTarget.value)} flex={1} />
          <Button type="submit" loading={creation.isPending}>
            {texts.create}
          </Button>
        </Group>
        {creation.error && <FailureNote error={creation.error} />}
      </Stack>
    </Form>
  );
}
