import { Button, Code, NativeSelect, Stack, Table, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type ManagementOutputs, refresh, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { ActButton, act } from "../../components/act.tsx";
import { ClientLink } from "../../components/client-link.tsx";
import { FailureNote, Pending } from "../../components/failure.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { T } from "../../texts/texts.ts";

const { workloads: texts } = T;

type Identity = ManagementOutputs["operator"]["workloadIdentities"]["list"]["identities"][number];

const HEADERS = [{ text: texts.subject }, { text: texts.acts }];

/** The identities on a platform, or of a client, each with the act that removes it. */
export function Identities({ of }: { readonly of: { readonly issuer: string } | { readonly clientId: string } }) {
  const pages = usePages(trpc.operator.workloadIdentities.list.queryKey(of), (cursor, signal) =>
    api.operator.workloadIdentities.list.query({ ...of, ...cursor }, { signal }),
  );
  const identities = pages.data?.pages.flatMap((page) => page.identities) ?? [];
  if (pages.data === undefined) return pages.error ? <FailureNote error={pages.error} retry={() => void pages.refetch()} /> : null;
  if (identities.length === 0) return <Text c="dimmed">{texts.noIdentities}</Text>;
  return (
    <Stack align="flex-start">
      <PlainTable caption={texts.identities} headers={HEADERS}>
        {identities.map((identity) => (
          <Row key={identity.id} identity={identity} isOfClient={"clientId" in of} />
        ))}
      </PlainTable>
      {pages.hasNextPage && (
        <Button variant="subtle" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          {texts.more}
        </Button>
      )}
    </Stack>
  );
}

const Row = ({
  identity: { id, issuer, subject, clientId, claims, isOpen },
  isOfClient,
}: {
  readonly identity: Identity;
  readonly isOfClient: boolean;
}) => (
  <Table.Tr>
    <Table.Td className="foreign">
      <Code>{subject}</Code>
      {Object.entries(claims).map(([name, value]) => (
        <Text key={name} size="sm">
          <Code>{`${name}=${value}`}</Code>
        </Text>
      ))}
      <Text size="xs" c="dimmed" component="div">
        {isOfClient ? issuer : <ClientLink clientId={clientId}>{clientId}</ClientLink>}
      </Text>
      {isOpen && <Text size="sm">{texts.isOpen}</Text>}
    </Table.Td>
    <Table.Td>
      <ActButton
        size="xs"
        variant="default"
        question={{ title: texts.removeIdentity, of: subject, consequences: [texts.identityEnds], act: texts.removeAct }}
        run={() => act(api.operator.workloadIdentities.remove.mutate({ id }), texts.identityRemoved)}
        aria-label={texts.removeOf([subject, ...Object.values(claims)].join(" "))}
      >
        {texts.removeAct}
      </ActButton>
    </Table.Td>
  </Table.Tr>
);

/** Lines of `name=value`. A line without a sign is a name with an empty value, which the server refuses. */
const claimsOf = (text: string): readonly (readonly [name: string, value: string])[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => [line.replace(/=.*/, "").trim(), line.includes("=") ? line.replace(/^[^=]*=/, "").trim() : ""]);

const EMPTY = { subject: "", claims: "" };

/** Lets a workload be a client. */
export function AddIdentity({ clientId }: { readonly clientId: string }) {
  const [chosen, setIssuer] = useState<string>();
  const [draft, setDraft] = useState(EMPTY);
  const found = useQuery(trpc.operator.workloadIssuers.list.queryOptions({ limit: 200 }));
  const issuers = found.data?.issuers ?? [];
  const issuer = chosen ?? issuers[0]?.issuer ?? "";
  const adding = useMutation({
    mutationFn: ({ subject, claims }: typeof draft) =>
      api.operator.workloadIdentities.add.mutate({
        clientId,
        issuer,
        subject: subject.trim(),
        claims: Object.fromEntries(claimsOf(claims)),
      }),
    onSuccess: (_, sent) => {
      setDraft((typed) => (typed === sent ? EMPTY : typed));
      return refresh({ queryKey: trpc.operator.workloadIdentities.pathKey() });
    },
  });
  const names = claimsOf(draft.claims).map(([name]) => name);
  const isTwice = new Set(names).size < names.length;
  if (found.data === undefined) return <Pending of={[found]} height={48} />;
  if (issuers.length === 0) return <Text>{texts.noPlatform}</Text>;
  return (
    <Form onSubmit={() => adding.mutate(draft)}>
      <Stack align="stretch">
        <NativeSelect
          label={texts.platform}
          value={issuer}
          onChange={({ currentTarget }) => setIssuer(currentTarget.value)}
          data={issuers.map((each) => each.issuer)}
        />
        <TextInput
          label={texts.subject}
          description={texts.subjectDetail}
          required
          value={draft.subject}
          onChange={({ currentTarget }) => setDraft({ ...draft, subject: currentTarget.value })}
        />
        <Textarea
          label={texts.claims}
          description={texts.claimsDetail}
          autosize
          error={isTwice && texts.claimTwice}
          value={draft.claims}
          onChange={({ currentTarget }) => setDraft({ ...draft, claims: currentTarget.value })}
        />
        <FormEnd of={adding} act={texts.assign} disabled={isTwice} />
      </Stack>
    </Form>
  );
}
