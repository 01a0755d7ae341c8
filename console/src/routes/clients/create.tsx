import { Group, Radio, Stack, Switch, Text, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, type ManagementInputs, refresh, trpc } from "../../api/client.ts";
import { useViewer } from "../../api/viewer.ts";
import { Form, FormEnd } from "../../components/form.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { oneOf } from "../../components/list-search.ts";
import { PageHead } from "../../components/page-head.tsx";
import { ResourceInput, ScopeInput } from "../../components/scope-input.tsx";
import { T } from "../../texts/texts.ts";
import { AgentModeSelect } from "./agent-fields.tsx";
import { type AgentMode, audienceOf, KINDS, type Kind, listOf, SETTINGS, scopesFor } from "./kinds.ts";
import { SecretOnce } from "./secret-once.tsx";

const { create: texts } = T.clients;

interface Draft {
  readonly kind: Kind;
  readonly name: string;
  readonly redirects: string;
  readonly scopes: string;
  /** Of a service, which an operator names. */
  readonly resources: string;
  /** Of an agent. */
  readonly mode: AgentMode | null;
  /** Whether it shows a token of its platform, in place of a secret. */
  readonly isWorkload: boolean;
}

/** Without users at its side, so that its platform can vouch for it. */
const runsAlone = (kind: Kind): boolean => kind === "service" || kind === "agent";

function register({ kind, name, redirects, scopes, resources, mode, isWorkload }: Draft, isOperator: boolean) {
  const { redirects: hasRedirects, isAgent, ...settings } = SETTINGS[kind];
  const input = { ...settings, name, scopes: listOf(scopes), redirectUris: hasRedirects ? listOf(redirects) : [] };
  if (!isOperator) return api.clients.create.mutate(input as ManagementInputs["clients"]["create"]);
  return api.operator.clients.create.mutate({
    ...input,
    ...(isWorkload && runsAlone(kind) && { tokenEndpointAuthMethod: "workload_jwt" }),
    ...(isAgent && { isAgent, maxAgentMode: mode }),
    ...(kind === "service" && { audience: audienceOf(resources) }),
  } as ManagementInputs["operator"]["clients"]["create"]);
}

export function CreateClient() {
  const { isKnown, isOperator, can } = useViewer();
  const { kind: given } = useSearch({ from: "/frame/clients/new" });
  const [draft, setDraft] = useState<Draft>(() => {
    const kind = oneOf(KINDS, given) ?? "web";
    return { kind, name: "", redirects: "", scopes: scopesFor(kind), resources: "", mode: "readonly", isWorkload: false };
  });
  const creation = useMutation({
    mutationFn: () => register(draft, isOperator),
    onSuccess: () => void refresh(), // the secret is shown at once
    meta: { secretOf: ({ name, clientSecret }: CreatedClient) => ({ label: `${texts.secret}: ${name}`, text: clientSecret }) },
  });
  if (creation.data !== undefined) return <Created {...creation.data} />;
  const head = { title: texts.title, back: { to: "/clients", label: T.clients.title } };
  if (isKnown && !can.createClients) return <PageHead {...head} detail={texts.notPermitted} />;
  const change = (members: Partial<Draft>): void => setDraft({ ...draft, ...members });
  /** Scopes that were not typed follow the kind. */
  const choose = (kind: Kind): void => change({ kind, ...(draft.scopes === scopesFor(draft.kind) && { scopes: scopesFor(kind) }) });
  const kinds = KINDS.filter((kind) => isOperator || kind !== "agent");
  return (
    <Form onSubmit={() => creation.mutate()}>
      <Stack maw="40rem">
        <PageHead {...head} />
        <Radio.Group label={texts.question} value={draft.kind} onChange={(kind) => choose(kind as Kind)}>
          <Stack mt="xs" gap="xs">
            {kinds.map((kind) => (
              <Radio key={kind} value={kind} label={texts.kinds[kind].name} description={texts.kinds[kind].detail} />
            ))}
          </Stack>
        </Radio.Group>
        <TextInput label={texts.name} required value={draft.name} onChange={({ currentTarget }) => change({ name: currentTarget.value })} />
        {SETTINGS[draft.kind].redirects && <RedirectUris draft={draft} onChange={(redirects) => change({ redirects })} />}
        {draft.kind === "agent" && <AgentModeSelect value={draft.mode} onChange={(mode) => change({ mode })} />}
        {isOperator && runsAlone(draft.kind) && (
          <Switch
            label={texts.isWorkload}
            description={texts.isWorkloadDetail}
            checked={draft.isWorkload}
            onChange={({ currentTarget }) => change({ isWorkload: currentTarget.checked })}
          />
        )}
        <ScopeInput value={draft.scopes} onChange={(scopes) => change({ scopes })} />
        {draft.kind === "service" && isOperator && (
          <ResourceInput value={draft.resources} onChange={(resources) => change({ resources })} />
        )}
        {draft.kind === "service" && isKnown && !isOperator && <Text size="sm">{texts.serviceOfDeveloper}</Text>}
        <FormEnd of={creation} act={texts.act} disabled={!isKnown}>
          <LinkButton variant="subtle" to="/clients">
            {T.common.cancel}
          </LinkButton>
        </FormEnd>
      </Stack>
    </Form>
  );
}

/** Judged by the server's own rule while they are typed. */
function RedirectUris({ draft, onChange }: { readonly draft: Draft; readonly onChange: (text: string) => void }) {
  const [text] = useDebouncedValue(draft.redirects, 300);
  const redirectUris = listOf(text);
  const { tokenEndpointAuthMethod } = SETTINGS[draft.kind];
  const judged = useQuery({
    ...trpc.clients.judgeRedirectUris.queryOptions({ redirectUris, tokenEndpointAuthMethod }),
    enabled: redirectUris.length > 0,
  });
  const faults = (judged.data?.faults ?? []).map(({ redirectUri, fault }) => `${redirectUri} ${fault}`);
  return (
    <Textarea
      label={texts.redirects}
      description={texts.redirectsDetail}
      required
      autosize
      minRows={2}
      value={draft.redirects}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={faults.length > 0 && <span className="foreign">{faults.join("; ")}</span>}
    />
  );
}

interface CreatedClient {
  readonly id: string;
  readonly clientId: string;
  readonly name: string;
  readonly clientSecret?: string;
  readonly redirectUris: readonly string[];
  readonly tokenEndpointAuthMethod: string;
}

/** The only page that shows the secret. */
function Created({ id, clientId, name, clientSecret, redirectUris, tokenEndpointAuthMethod }: CreatedClient) {
  const isWorkload = tokenEndpointAuthMethod === "workload_jwt";
  return (
    <Stack maw="40rem">
      <PageHead title={name} back={{ to: "/clients", label: T.clients.title }} />
      {isWorkload ? <Text>{texts.workloadNext}</Text> : <SecretOnce clientId={clientId} secret={clientSecret} />}
      <Group>
        {redirectUris.length > 0 && (
          <LinkButton to="/clients/$id" params={{ id }} search={{ tab: "try" }}>
            {T.clients.tryIt.tab}
          </LinkButton>
        )}
        {isWorkload && (
          <LinkButton to="/clients/$id" params={{ id }} search={{ tab: "workloads" }}>
            {T.workloads.assign}
          </LinkButton>
        )}
        <LinkButton variant="default" to="/clients/$id" params={{ id }}>
          {texts.show}
        </LinkButton>
      </Group>
    </Stack>
  );
}
