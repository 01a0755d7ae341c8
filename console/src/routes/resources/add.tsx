import { Alert, Button, Group, List, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useEdits } from "../../api/changes.ts";
import { api, type ManagementOutputs, queryClient, trpc } from "../../api/client.ts";
import { FailureNote } from "../../components/failure.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { useMoveOn } from "../../components/move-on.ts";
import { PageHead } from "../../components/page-head.tsx";
import { T } from "../../texts/texts.ts";
import { listOf } from "../clients/kinds.ts";

const { resources: texts } = T;

type Inspection = ManagementOutputs["operator"]["resources"]["inspect"];

/** By its address: the server reads the metadata document of the resource, and what it found fills the form. */
export function AddResource() {
  const { uri } = useSearch({ from: "/frame/resources/new" });
  const navigate = useNavigate({ from: "/resources/new" });
  const [text, setText] = useState(uri ?? "");
  useEffect(() => setText(uri ?? ""), [uri]); // the form below is that of the address, also after a step back
  const found = useQuery({ ...trpc.operator.resources.inspect.queryOptions({ resource: uri ?? "" }), enabled: uri !== undefined });
  return (
    <Stack maw="40rem">
      <PageHead title={texts.add} back={{ to: "/resources", label: texts.title }} detail={texts.addDetail} />
      <Form onSubmit={() => (text.trim() === uri ? found.refetch() : navigate({ search: { uri: text.trim() } }))}>
        <Stack>
          <TextInput
            label={texts.address}
            description={texts.addressDetail}
            type="url"
            required
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
          <Group>
            <Button type="submit" variant={found.data ? "default" : "filled"} loading={found.isFetching}>
              {texts.read}
            </Button>
          </Group>
        </Stack>
      </Form>
      {found.error && <FailureNote error={found.error} />}
      {found.data !== undefined && <Found key={found.data.resource} {...found.data} />}
    </Stack>
  );
}

function Found({ resource, metadata, fault, metadataUrl }: Inspection) {
  const moveOn = useMoveOn();
  const { fields, text } = useEdits({
    name: metadata?.name ?? URL.parse(resource)?.host ?? resource,
    scopes: metadata?.scopes.join(" ") ?? "",
  });
  const creation = useMutation({
    mutationFn: () =>
      api.operator.resources.create.mutate({
        resource,
        name: fields.name,
        scopes: listOf(fields.scopes).map((scope) => ({ name: scope, title: {}, detail: {} })),
      }),
    onMutate: moveOn,
    // Not after the metadata was read again, for which a slow resource can be waited for.
    onSuccess: (_, _sent, move) => move({ to: "/resources/view", search: { uri: resource } }).then(() => queryClient.invalidateQueries()),
  });
  return (
    <Form onSubmit={() => creation.mutate()}>
      <Stack>
        <Document
          fault={fault}
          metadataUrl={metadataUrl}
          scopes={metadata?.scopes ?? []}
          hint={fault === null ? undefined : texts.fillIn}
        />
        <TextInput label={T.clients.name} required {...text("name")} />
        <TextInput label={T.clients.create.scopes} description={texts.scopesDetail} {...text("scopes")} />
        <FormEnd of={creation} act={texts.add} />
      </Stack>
    </Form>
  );
}

interface DocumentProps extends Pick<Inspection, "fault" | "metadataUrl"> {
  readonly scopes: readonly string[];
  /** What to do about it. */
  readonly hint?: string | undefined;
}

export const Document = ({ fault, metadataUrl, scopes, hint }: DocumentProps) => (
  <Alert color={fault === null ? "teal" : "yellow"} title={fault === null ? texts.isFound : texts.notFound}>
    <Text className="foreign">{metadataUrl}</Text>
    {fault !== null && <Text>{texts.faults[fault] ?? texts.fault(fault)}</Text>}
    {hint !== undefined && <Text>{hint}</Text>}
    {scopes.length > 0 && (
      <List size="sm">
        {scopes.map((scope) => (
          <List.Item key={scope} className="foreign">
            {scope}
          </List.Item>
        ))}
      </List>
    )}
  </Alert>
);
