import { Alert, Button, PasswordInput, Stack, Switch, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { changesTo, mergedList, sendChanges, useEdits } from "../../api/changes.ts";
import { api, type ManagementOutputs, refresh, trpc } from "../../api/client.ts";
import { CopyBlock } from "../../components/copy.tsx";
import { FailureNote, isThere, PendingScreen } from "../../components/failure.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Removal } from "../../components/removal.tsx";
import { Section } from "../../components/section.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { ISSUER } from "../../environment.ts";
import { shownMoment, T } from "../../texts/texts.ts";
import { listOf } from "../clients/kinds.ts";

const { connections: texts } = T;

type Connection = ManagementOutputs["operator"]["connections"]["get"];
interface PartProps {
  readonly connection: Connection;
}

export function ConnectionPage() {
  const { name = "" } = useSearch({ from: "/frame/connections/view" });
  const found = useQuery(trpc.operator.connections.get.queryOptions({ name }));
  if (!isThere(found)) return <PendingScreen title={texts.title} of={[found]} height={320} />;
  const connection = found.data;
  return (
    <Stack key={name} maw="44rem">
      <PageHead
        title={connection.title}
        back={{ to: "/connections", label: texts.title }}
        state={<StateBadge enabled={connection.enabled} />}
        detail={`${name} · ${connection.issuer}`}
      />
      <AtProvider connection={connection} />
      <Section title={texts.settings}>
        <Settings connection={connection} />
      </Section>
      {connection.authMethod === "client_secret" && (
        <Section title={texts.clientSecret}>
          <Secret connection={connection} />
        </Section>
      )}
      <Remove connection={connection} />
    </Stack>
  );
}

/** What is registered at the provider, and whether it knows this server. */
function AtProvider({ connection: { name, realmId, protocol, authMethod, redirectUri, publicKey, createdAt } }: PartProps) {
  const realm = useQuery(trpc.operator.realms.get.queryOptions({ id: realmId }));
  return (
    <Section title={texts.atProvider}>
      <CopyBlock label={texts.redirectUri} text={redirectUri} />
      {protocol === "oidc" && <CopyBlock label={texts.logoutUri} text={`${ISSUER}/signin/${name}/logout`} />}
      {publicKey !== null && <CopyBlock label={texts.publicKey} text={JSON.stringify(publicKey)} />}
      <dl className="facts">
        <dt>{texts.authMethod}</dt>
        <dd>{texts.authMethods[authMethod]}</dd>
        <dt>{texts.realm}</dt>
        <dd className="foreign">{realm.data?.name ?? realmId}</dd>
        <dt>{texts.created}</dt>
        <dd>{shownMoment(createdAt)}</dd>
      </dl>
      <Test name={name} />
    </Section>
  );
}

function Test({ name }: Pick<Connection, "name">) {
  const test = useQuery({ ...trpc.operator.connections.test.queryOptions({ name }), enabled: false, retry: false });
  const { data } = test;
  return (
    <Stack gap="xs" align="flex-start">
      <Button variant="default" loading={test.isFetching} onClick={() => void test.refetch()}>
        {texts.test}
      </Button>
      <div role="status">
        {data !== undefined && !test.isFetching && (
          <Alert color={data.works ? "teal" : "red"} title={data.works ? texts.works : texts.worksNot}>
            <Text>{data.works ? texts.worksDetail : texts.faults[data.stage ?? "metadata"]}</Text>
            {data.reason !== null && <Text c="dimmed">{data.reason}</Text>}
          </Alert>
        )}
      </div>
      {test.error && !test.isFetching && <FailureNote error={test.error} />}
    </Stack>
  );
}

/** The members that a form has, as it has them. */
const fieldsOf = ({ title, clientId, scopes, domains, trustsAcr, enabled }: Connection) => ({
  ...{ title, clientId, trustsAcr, enabled },
  ...{ scopes: scopes.join(" "), domains: domains.join(" ") },
});

function Settings({ connection }: PartProps) {
  const { fields, begun, edit, text, assertUnchanged, settle } = useEdits(fieldsOf(connection));
  const saving = useMutation({
    mutationFn: async (sent: typeof fields) => {
      const now = await api.operator.connections.get.query({ name: connection.name }); // others may have changed it since the screen was read
      assertUnchanged(sent, { title: now.title, clientId: now.clientId });
      const { title, clientId, trustsAcr, enabled } = sent;
      const merged = (member: "scopes" | "domains") => mergedList(listOf(begun[member]), listOf(sent[member]), now[member]);
      const changes = changesTo(
        { ...connection, scopes: now.scopes, domains: now.domains },
        { title, clientId, trustsAcr, enabled, scopes: merged("scopes"), domains: merged("domains") },
      );
      return sendChanges(changes, (some) =>
        api.operator.connections.update.mutate({ name: connection.name, ...some, updatedAt: now.updatedAt }),
      );
    },
    onSuccess: async (_, sent) => {
      notifications.show({ message: texts.saved });
      settle(sent);
      await refresh();
    },
  });
  return (
    <Form onSubmit={() => saving.mutate(fields)}>
      <Stack>
        <TextInput label={texts.buttonTitle} description={texts.buttonDetail} required {...text("title")} />
        <TextInput label={texts.clientId} required {...text("clientId")} />
        <TextInput label={texts.domains} description={texts.domainsDetail} {...text("domains")} />
        <TextInput label={texts.scopes} description={texts.scopesDetail} required {...text("scopes")} />
        <Switch
          label={texts.trustsAcr}
          description={texts.trustsAcrDetail}
          checked={fields.trustsAcr}
          onChange={({ currentTarget }) => edit({ trustsAcr: currentTarget.checked })}
        />
        <Switch
          label={T.common.enabled}
          description={texts.enabledDetail}
          checked={fields.enabled}
          onChange={({ currentTarget }) => edit({ enabled: currentTarget.checked })}
        />
        <FormEnd of={saving} act={texts.save} />
      </Stack>
    </Form>
  );
}

/** Replaces the secret, which is never shown. */
function Secret({ connection: { name } }: PartProps) {
  const [clientSecret, setSecret] = useState("");
  const saving = useMutation({
    mutationFn: (sent: string) => api.operator.connections.update.mutate({ name, clientSecret: sent }),
    gcTime: 0, // its variables are the secret
    onSuccess: (_, sent) => {
      notifications.show({ message: texts.secretReplaced });
      setSecret((typed) => (typed === sent ? "" : typed));
      return refresh();
    },
  });
  return (
    <Form onSubmit={() => saving.mutate(clientSecret)}>
      <Stack>
        <PasswordInput
          label={texts.newSecret}
          description={texts.newSecretDetail}
          required
          autoComplete="new-password"
          value={clientSecret}
          onChange={({ currentTarget }) => setSecret(currentTarget.value)}
        />
        <FormEnd of={saving} act={texts.replaceSecret} variant="default" />
      </Stack>
    </Form>
  );
}

const Remove = ({ connection: { name, title } }: PartProps) => (
  <Removal
    question={{
      ...{ title: texts.remove, of: title, consequences: texts.removeConsequences, act: texts.remove },
      typed: { label: texts.typeName(name), text: name },
    }}
    run={() => api.operator.connections.remove.mutate({ name })}
    to="/connections"
  />
);
