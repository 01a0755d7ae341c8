import { Badge, Checkbox, Group, Stack, Tabs, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { changesTo, mergedList, sendChanges, useEdits } from "../../api/changes.ts";
import { api, refresh, trpc } from "../../api/client.ts";
import { now } from "../../api/clock.ts";
import { usePages } from "../../api/pages.ts";
import { isThere, PendingScreen } from "../../components/failure.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { oneOf } from "../../components/list-search.ts";
import { PageHead } from "../../components/page-head.tsx";
import { Removal } from "../../components/removal.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { shownNumber, T } from "../../texts/texts.ts";
import { RecordTable } from "../audit/records.tsx";
import { Connect } from "./connect.tsx";
import { Doctor } from "./doctor.tsx";
import type { Resource } from "./record.ts";
import { Scopes } from "./scopes.tsx";

const { resources: texts } = T;

/** A month ago, as the address of the audit screen has it. A search for a resource reads all records of its span. */
const monthAgo = (): string => new Date(Math.floor(now() / 86_400_000 - 30) * 86_400_000).toISOString();

const TABS = ["connect", "scopes", "settings", "refusals", "doctor"] as const;

export function ResourcePage() {
  const { uri = "", tab } = useSearch({ from: "/frame/resources/view" });
  const navigate = useNavigate({ from: "/resources/view" });
  const found = useQuery(trpc.operator.resources.get.queryOptions({ resource: uri }));
  if (!isThere(found)) return <PendingScreen title={texts.title} of={[found]} height={240} />;
  const { data } = found;
  return (
    <Stack>
      <PageHead
        title={data.name}
        back={{ to: "/resources", label: texts.title }}
        state={<StateBadge enabled={data.enabled} />}
        detail={data.resource}
      >
        <LinkButton variant="default" to="/audit" search={{ resource: data.resource, since: monthAgo() }}>
          {T.agents.audit}
        </LinkButton>
      </PageHead>
      <Tabs
        value={oneOf(TABS, tab) ?? "connect"}
        onChange={(value) => void navigate({ search: { uri, tab: value ?? "connect" }, replace: true })}
        keepMounted={false}
      >
        <Tabs.List>
          <Tabs.Tab value="connect">{texts.connect}</Tabs.Tab>
          <Tabs.Tab value="scopes">{texts.scopes}</Tabs.Tab>
          <Tabs.Tab value="settings">{texts.settings}</Tabs.Tab>
          <Tabs.Tab value="refusals">{texts.refusals}</Tabs.Tab>
          <Tabs.Tab value="doctor">{texts.doctor}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="connect" pt="md">
          <Connect resource={data} />
        </Tabs.Panel>
        <Tabs.Panel value="scopes" pt="md">
          <Scopes resource={data} />
        </Tabs.Panel>
        <Tabs.Panel value="settings" pt="md" keepMounted>
          <Settings key={data.resource} resource={data} />
        </Tabs.Panel>
        <Tabs.Panel value="refusals" pt="md">
          <Refusals resource={data} />
        </Tabs.Panel>
        <Tabs.Panel value="doctor" pt="md">
          <Doctor resource={data.resource} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

interface Fields {
  readonly name: string;
  readonly kinds: readonly string[];
  readonly enabled: boolean;
  readonly lifetime: string;
}

const KINDS = ["registered", "document", "named"] as const;

/** Its name, which kinds of clients may ask for its scopes, and how long its tokens last. */
function Settings({ resource }: { readonly resource: Resource }) {
  const { fields, begun, edit, text, assertUnchanged, settle } = useEdits<Fields>({
    ...{ name: resource.name, kinds: resource.clients, enabled: resource.enabled },
    lifetime: String(resource.accessTokenLifetime ?? ""),
  });
  const named = { realmId: resource.realmId, resource: resource.resource };
  const saving = useMutation({
    mutationFn: async (sent: Fields) => {
      const { name, enabled, kinds, lifetime } = sent;
      const inOrder = (some: readonly string[]) => KINDS.filter((kind) => some.includes(kind));
      const now = await api.operator.resources.get.query(named); // others may have changed the kinds since the screen was read
      assertUnchanged(sent, { name: now.name, lifetime: String(now.accessTokenLifetime ?? "") });
      const changes = changesTo(
        { ...resource, clients: inOrder(now.clients) },
        {
          ...{ name, enabled, clients: inOrder(mergedList(begun.kinds, kinds, now.clients)) },
          accessTokenLifetime: lifetime.trim() === "" ? null : Number(lifetime),
        },
      );
      return sendChanges(changes, (some) => api.operator.resources.update.mutate({ ...named, ...some, updatedAt: now.updatedAt }));
    },
    onSuccess: async (_, sent) => {
      notifications.show({ message: T.clients.settings.saved });
      settle(sent);
      await refresh();
    },
  });
  return (
    <Form onSubmit={() => saving.mutate(fields)}>
      <Stack align="flex-start">
        <TextInput label={T.clients.name} description={texts.nameDetail} required w="100%" maw="30rem" {...text("name")} />
        <Checkbox.Group label={texts.kindsQuestion} value={[...fields.kinds]} onChange={(kinds) => edit({ kinds })}>
          <Stack mt="xs" gap="xs">
            {KINDS.map((kind) => (
              <Checkbox key={kind} value={kind} label={texts.kinds[kind]} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Checkbox
          label={T.common.enabled}
          description={texts.enabledDetail}
          checked={fields.enabled}
          onChange={({ currentTarget }) => edit({ enabled: currentTarget.checked })}
        />
        <TextInput
          label={texts.lifetime}
          description={texts.lifetimeDetail}
          inputMode="numeric"
          pattern="[0-9]*"
          w="100%"
          maw="30rem"
          {...text("lifetime")}
        />
        <FormEnd of={saving} act={T.clients.settings.save}>
          <Removal
            question={{ title: texts.remove, of: resource.resource, consequences: texts.removeConsequences, act: texts.remove }}
            run={() => api.operator.resources.remove.mutate(named)}
            to="/resources"
          />
        </FormEnd>
      </Stack>
    </Form>
  );
}

/** Milliseconds between two looks. */
const LOOK = 10_000;

/** Token requests that named the resource and were refused. */
function Refusals({ resource: { realmId, resource } }: { readonly resource: Resource }) {
  const named = { realmId, resource };
  const pages = usePages(
    trpc.operator.resources.refusals.queryKey(named),
    (cursor, signal) => api.operator.resources.refusals.query({ ...named, ...cursor }, { signal }),
    LOOK,
  );
  const reasons = pages.data?.pages[0]?.reasons ?? [];
  return (
    <Stack>
      <Text>{texts.refusalsDetail}</Text>
      {reasons.length > 0 && (
        <Group gap="xs" role="list" aria-label={texts.reasons}>
          {reasons.map(({ reason, count }) => (
            <Badge key={reason} color="red" size="lg" role="listitem">
              {reason} {shownNumber(count)}
            </Badge>
          ))}
        </Group>
      )}
      <RecordTable pages={pages} caption={texts.refusals} empty={texts.noRefusals} />
    </Stack>
  );
}
