import { Anchor, Button, Group, Paper, Stack, Switch, Text, Textarea, TextInput, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { changesTo, mergedList, sendChanges, useEdits } from "../../api/changes.ts";
import { api, refresh } from "../../api/client.ts";
import { useViewer } from "../../api/viewer.ts";
import { useConfirm } from "../../components/confirm.tsx";
import { FailureNote } from "../../components/failure.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { Removal } from "../../components/removal.tsx";
import { ResourceInput, ScopeInput } from "../../components/scope-input.tsx";
import { UserName } from "../../components/user-name.tsx";
import { shownAgo, shownMoment, T } from "../../texts/texts.ts";
import { AgentFields, type AgentSettings } from "./agent-fields.tsx";
import type { ClientPart, ClientRecord } from "./client-part.ts";
import { audienceOf, listOf } from "./kinds.ts";
import { SecretOnce } from "./secret-once.tsx";

const { settings: texts, create } = T.clients;

/** The procedures for clients that the viewer may call: they have the same inputs. */
const proceduresFor = (isOperator: boolean) => (isOperator ? api.operator.clients : api.clients);

export function ClientSettings(part: ClientPart) {
  return (
    <Stack maw="44rem">
      <Members {...part} />
      <Facts {...part} />
      <Dangers {...part} />
    </Stack>
  );
}

function Members({ client, can }: ClientPart) {
  const { isOperator } = useViewer();
  const asAgent: AgentSettings = { isAgent: client.isAgent ?? false, maxAgentMode: client.maxAgentMode ?? null };
  const { fields, begun, edit, text, assertUnchanged, settle } = useEdits({
    ...{ name: client.name, redirects: client.redirectUris.join("\n"), scopes: client.scopes.join(" "), enabled: client.enabled },
    resources: (client.audience ?? []).join(" "),
    ...asAgent,
  });
  const agentOf = ({ isAgent, maxAgentMode }: typeof fields): AgentSettings => ({ isAgent, maxAgentMode });
  const saving = useMutation({
    mutationFn: async (sent: typeof fields) => {
      const { id } = client;
      const { name, redirects, scopes, enabled } = sent;
      const now: ClientRecord = await proceduresFor(isOperator).get.query({ id }); // others may have changed it since the screen was read
      assertUnchanged(sent, { name: now.name, maxAgentMode: now.maxAgentMode ?? null });
      const { updatedAt } = now;
      const changes = changesTo(
        { ...client, redirectUris: now.redirectUris, scopes: now.scopes },
        {
          ...{ name, enabled },
          redirectUris: mergedList(listOf(begun.redirects), listOf(redirects), now.redirectUris),
          scopes: mergedList(listOf(begun.scopes), listOf(scopes), now.scopes),
        },
      );
      if (!isOperator) return sendChanges(changes, (patch) => api.clients.update.mutate({ id, patch, updatedAt }));
      const resources = mergedList(listOf(begun.resources), listOf(sent.resources), now.audience ?? []);
      const ofOperators = {
        ...changesTo(asAgent, agentOf(sent)),
        ...changesTo({ audience: now.audience ?? null }, { audience: audienceOf(resources.join(" ")) }),
      };
      return sendChanges({ ...changes, ...ofOperators }, (patch) => api.operator.clients.update.mutate({ id, patch, updatedAt }));
    },
    onSuccess: async (_, sent) => {
      notifications.show({ message: texts.saved });
      settle(sent);
      await refresh();
    },
  });
  return (
    <Form onSubmit={() => saving.mutate(fields)}>
      <fieldset className="plain" disabled={!can.update}>
        <Stack>
          {!can.update && <Text>{texts.builtIn}</Text>}
          <TextInput label={create.name} required {...text("name")} />
          <Textarea label={create.redirects} description={create.redirectsDetail} autosize {...text("redirects")} />
          <ScopeInput value={fields.scopes} onChange={(scopes) => edit({ scopes })} />
          {can.setOperatorAttributes && client.tokenEndpointAuthMethod !== "none" && (
            <ResourceInput value={fields.resources} onChange={(resources) => edit({ resources })} />
          )}
          {can.setOperatorAttributes && (
            <AgentFields {...agentOf(fields)} onChange={(settings) => edit(changesTo(agentOf(fields), settings))} />
          )}
          <Switch
            label={T.common.enabled}
            description={texts.enabledDetail}
            checked={fields.enabled}
            onChange={({ currentTarget }) => edit({ enabled: currentTarget.checked })}
          />
          {can.update && <FormEnd of={saving} act={texts.save} />}
        </Stack>
      </fieldset>
    </Form>
  );
}

const Facts = ({ client }: ClientPart) => (
  <Paper withBorder p="md">
    <dl className="facts">
      <dt>{texts.method}</dt>
      <dd>{client.tokenEndpointAuthMethod}</dd>
      <dt>{texts.grants}</dt>
      <dd className="foreign">{client.grantTypes.join(", ")}</dd>
      <dt>{T.clients.environment}</dt>
      <dd>{T.common.environment[client.environment ?? ""] ?? T.common.none}</dd>
      <dt>{T.clients.created}</dt>
      <dd>{shownMoment(client.createdAt)}</dd>
      <dt>{T.clients.lastUsed}</dt>
      <dd>{client.lastUsedAt === null ? T.common.never : shownAgo(client.lastUsedAt)}</dd>
      {client.origin !== undefined && (
        <>
          <dt>{T.clients.origin}</dt>
          <dd>
            {client.ownerId ? (
              <Anchor component={Link} to="/users/$id" params={{ id: client.ownerId } as never} size="sm">
                <UserName id={client.ownerId} />
              </Anchor>
            ) : (
              T.clients.origins[client.origin]
            )}{" "}
            <Anchor
              component={Link}
              to={"/audit" as never}
              search={{ event: "client.registered", clientId: client.clientId } as never}
              size="sm"
            >
              ({T.clients.registration})
            </Anchor>
          </dd>
        </>
      )}
    </dl>
  </Paper>
);

function Dangers({ client, can }: ClientPart) {
  const { isOperator } = useViewer();
  const confirm = useConfirm();
  const procedures = proceduresFor(isOperator);
  const rotation = useMutation({
    mutationFn: () => procedures.regenerateSecret.mutate({ id: client.id }),
    meta: {
      secretOf: (answer: { readonly clientSecret: string }) => ({ label: `${create.secret}: ${client.name}`, text: answer.clientSecret }),
    },
  });
  const rotate = async () => {
    if (await confirm({ title: texts.rotate, of: client.name, consequences: texts.rotateConsequences, act: texts.rotate }))
      rotation.mutate();
  };
  if (!can.regenerateSecret && !can.delete) return null;
  return (
    <Stack>
      <Title order={2}>{texts.dangers}</Title>
      {rotation.data !== undefined && <SecretOnce clientId={client.clientId} secret={rotation.data.clientSecret} />}
      {rotation.error && <FailureNote error={rotation.error} />}
      <Group>
        {can.regenerateSecret && (
          <Button variant="default" loading={rotation.isPending} onClick={() => void rotate()}>
            {texts.rotate}
          </Button>
        )}
        {can.delete && (
          <Removal
            question={{
              ...{ title: texts.remove, of: client.name, consequences: texts.removeConsequences, act: texts.remove },
              typed: { label: texts.typeName(client.name), text: client.name },
            }}
            run={() => procedures.delete.mutate({ id: client.id })}
            to="/clients"
          />
        )}
      </Group>
    </Stack>
  );
}
