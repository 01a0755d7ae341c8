import { Alert, Button, NativeSelect, Stack, Switch, Text, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { act } from "../../components/act.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { FailureNote } from "../../components/failure.tsx";
import { DialogForm, Form } from "../../components/form.tsx";
import { type ListSearch, oneOf, sortOf } from "../../components/list-search.ts";
import { ListTools } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Section } from "../../components/section.tsx";
import { T } from "../../texts/texts.ts";
import { Rules } from "../explain/explain.tsx";

const { workloads: texts } = T;

type Row = ManagementOutputs["operator"]["workloadIssuers"]["list"]["issuers"][number];
type Search = ListSearch<"q" | "sort" | "kind">;

const SORTS = ["issuer"] as const;
const KINDS = ["oidc", "kubernetes", "spiffe"] as const;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "issuer",
    header: texts.issuer,
    sortable: true,
    cell: ({ issuer, kind }) => (
      <>
        <Link to="/workloads/view" search={{ uri: issuer }} className="row-link foreign">
          {issuer}
        </Link>
        <Text size="xs" c="dimmed">
          {texts.kinds[kind]}
        </Text>
      </>
    ),
  },
  { id: "singleUse", header: texts.singleUse, low: true, cell: ({ singleUse }) => (singleUse ? T.common.yes : T.common.no) },
];

/** Platforms whose tokens authenticate clients. */
export function PlatformList() {
  const search: Search = useSearch({ from: "/frame/workloads" });
  const navigate = useNavigate({ from: "/workloads" });
  const [isAdding, { open, close }] = useDisclosure(false);
  const { q, sort, kind } = search;
  const input = { ...(q !== undefined && { search: q }), ...sortOf(sort, SORTS), kind: oneOf(KINDS, kind) };
  const pages = usePages(trpc.operator.workloadIssuers.list.queryKey(input), (cursor, signal) =>
    api.operator.workloadIssuers.list.query({ ...input, ...cursor }, { signal }),
  );
  const change = (members: Search) => void navigate({ search: (before) => ({ ...before, ...members }) as Search, replace: true });
  const isFiltered = q !== undefined || kind !== undefined;
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.lead}>
        <Button onClick={open}>{texts.add}</Button>
      </PageHead>
      <AddPlatform opened={isAdding} onClose={close} />
      <ListTools
        searchLabel={texts.search}
        search={search}
        filters={[{ key: "kind", label: texts.kind, options: KINDS.map((value) => [value, texts.kinds[value]]) }]}
        onChange={change}
      />
      <DataTable
        caption={texts.title}
        columns={COLUMNS}
        pages={pages}
        rowsOf={({ issuers }) => issuers}
        keyOf={({ issuer }) => issuer}
        sort={sort}
        onSort={(to) => change({ sort: to })}
        empty={{ text: isFiltered ? texts.noMatch : texts.empty }}
      />
      <Section title={texts.test}>
        <TestToken />
      </Section>
    </Stack>
  );
}

function AddPlatform({ opened, onClose }: { readonly opened: boolean; readonly onClose: () => void }) {
  const [issuer, setIssuer] = useState("");
  const [kind, setKind] = useState<(typeof KINDS)[number]>("kubernetes");
  const [allowPrivate, setPrivate] = useState(false);
  const add = async (): Promise<boolean> => {
    const platform = { issuer: issuer.trim(), kind, allowPrivate };
    const isAdded = await act(api.operator.workloadIssuers.create.mutate(platform), texts.added(platform.issuer));
    if (isAdded) {
      setIssuer((typed) => (typed === issuer ? "" : typed));
      setPrivate(false);
    }
    return isAdded;
  };
  return (
    <DialogForm opened={opened} onClose={onClose} title={texts.add} act={texts.addAct} onSubmit={add}>
      <Text>{texts.addText}</Text>
      <NativeSelect
        label={texts.kind}
        value={kind}
        onChange={({ currentTarget }) => setKind(oneOf(KINDS, currentTarget.value) ?? "oidc")}
        data={KINDS.map((value) => ({ value, label: texts.kinds[value] }))}
      />
      <TextInput
        label={texts.issuer}
        description={texts.issuerDetail[kind]}
        required
        data-autofocus
        value={issuer}
        onChange={({ currentTarget }) => setIssuer(currentTarget.value)}
      />
      <Switch
        label={texts.allowPrivate}
        description={texts.allowPrivateDetail}
        checked={allowPrivate}
        onChange={({ currentTarget }) => setPrivate(currentTarget.checked)}
      />
    </DialogForm>
  );
}

/** Which client a token stands for, or the rule that refuses it. */
function TestToken() {
  const [token, setToken] = useState("");
  const test = useMutation({
    mutationFn: (sent: string) => api.operator.workloadIssuers.test.mutate({ token: sent, signature: true }),
    gcTime: 0, // its variables are the token
  });
  const { data } = test;
  return (
    <Form onSubmit={() => test.mutate(token.trim())}>
      <Stack align="flex-start">
        <Textarea
          label={texts.token}
          description={texts.tokenDetail}
          required
          autosize
          minRows={2}
          maxRows={8}
          w="100%"
          autoComplete="off"
          value={token}
          onChange={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={test.isPending}>
          {texts.testAct}
        </Button>
        {test.error && <FailureNote error={test.error} />}
        <div role="status">
          {data !== undefined && (
            <Alert color={data.clientId === null ? "red" : "teal"} title={data.clientId === null ? texts.refused : texts.accepted}>
              <Text className="foreign">{data.clientId === null ? texts.refusedDetail : texts.isClient(data.clientId)}</Text>
            </Alert>
          )}
        </div>
        {data !== undefined && <Rules rules={data.rules} clientId={data.clientId ?? undefined} />}
      </Stack>
    </Form>
  );
}
