import { Alert, Button, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type ManagementOutputs, refresh, trpc } from "../../api/client.ts";
import { useConfirm } from "../../components/confirm.tsx";
import { CopyBlock } from "../../components/copy.tsx";
import { FailureNote } from "../../components/failure.tsx";
import { Form } from "../../components/form.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { shownAgo, T } from "../../texts/texts.ts";
import type { ClientPart } from "./client-part.ts";

const { keys: texts } = T.clients;

/** Static API keys, which only the developer of a client in development has. */
export function ClientKeys({ client: { id: clientId } }: ClientPart) {
  const confirm = useConfirm();
  const [name, setName] = useState("");
  const keys = useQuery(trpc.apiKeys.list.queryOptions({ clientId }));
  const readKeys = () => refresh({ queryKey: trpc.apiKeys.pathKey() });
  const creation = useMutation({
    mutationFn: (sent: string) => api.apiKeys.create.mutate({ clientId, key: { name: sent } }),
    onSuccess: (_, sent) => {
      setName((typed) => (typed === sent ? "" : typed));
      void readKeys(); // the key is shown at once
    },
    meta: { secretOf: ({ name, key }: ManagementOutputs["apiKeys"]["create"]) => ({ label: `${texts.key}: ${name}`, text: key }) },
  });
  const revocation = useMutation({
    mutationFn: (keyId: string) => api.apiKeys.revoke.mutate({ clientId, keyId }),
    onSuccess: ({ id }) => {
      if (id === creation.data?.id) creation.reset();
      return readKeys();
    },
  });
  const revoke = async (keyId: string, ofKey: string) => {
    if (await confirm({ title: texts.revokeOf(ofKey), consequences: [texts.revokeConsequence], act: texts.revoke }))
      revocation.mutate(keyId);
  };
  const error = keys.error ?? creation.error ?? revocation.error;
  return (
    <Stack maw="44rem">
      <Text>{texts.lead}</Text>
      <Form onSubmit={() => creation.mutate(name)}>
        <Group align="end">
          <TextInput label={texts.name} required value={name} onChange={({ currentTarget }) => setName(currentTarget.value)} />
          <Button type="submit" loading={creation.isPending}>
            {texts.create}
          </Button>
        </Group>
      </Form>
      {creation.data !== undefined && (
        <Alert color="yellow" title={T.clients.create.secretTitle}>
          <CopyBlock label={texts.key} text={creation.data.key} isSecret />
        </Alert>
      )}
      {error && <FailureNote error={error} />}
      {keys.data?.apiKeys.length === 0 && <Text c="dimmed">{texts.empty}</Text>}
      {keys.data !== undefined && keys.data.apiKeys.length > 0 && (
        <PlainTable caption={texts.tab} headers={[{ text: texts.name }, { text: T.clients.lastUsed }, { text: T.clients.state }]}>
          {keys.data.apiKeys.map(({ id, name: ofKey, lastUsedAt, revokedAt }) => (
            <Table.Tr key={id}>
              <Table.Td className="foreign">{ofKey}</Table.Td>
              <Table.Td>{lastUsedAt === null ? T.common.never : shownAgo(lastUsedAt)}</Table.Td>
              <Table.Td>
                {revokedAt === null ? (
                  <Button
                    size="compact-sm"
                    variant="default"
                    loading={revocation.isPending && revocation.variables === id}
                    aria-label={texts.revokeOf(ofKey)}
                    onClick={() => void revoke(id, ofKey)}
                  >
                    {texts.revoke}
                  </Button>
                ) : (
                  texts.revoked
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </PlainTable>
      )}
    </Stack>
  );
}
