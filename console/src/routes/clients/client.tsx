import { Stack, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { trpc } from "../../api/client.ts";
import { useViewer } from "../../api/viewer.ts";
import { isThere, PendingScreen } from "../../components/failure.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { T } from "../../texts/texts.ts";
import { Records } from "../audit/records.tsx";
import type { ClientPart, ClientRecord } from "./client-part.ts";
import { ClientConsents } from "./consents.tsx";
import { ClientKeys } from "./keys.tsx";
import { ClientSettings } from "./settings.tsx";
import { TryIt } from "./try-it.tsx";
import { ClientWorkloads } from "./workloads.tsx";

const { clients: texts } = T;

/** The record, by the procedure that the viewer may call. */
function useClient(id: string) {
  const { isKnown, isOperator } = useViewer();
  const own = useQuery({ ...trpc.clients.get.queryOptions({ id }), enabled: isKnown && !isOperator });
  const any = useQuery({ ...trpc.operator.clients.get.queryOptions({ id }), enabled: isKnown && isOperator });
  return isOperator ? any : own;
}

const TAB_NAMES = {
  settings: texts.settings.tab,
  try: texts.tryIt.tab,
  consents: texts.consents.tab,
  keys: texts.keys.tab,
  workloads: T.workloads.identities,
  audit: texts.audit.tab,
} as const;

/** What there is for this client and this viewer. */
const tabsFor = ({ client, can }: ClientPart, isOperator: boolean) =>
  [
    "settings",
    ...(client.grantTypes.includes("authorization_code") ? ["try", "consents"] : []),
    ...(can.createApiKeys ? ["keys"] : []),
    ...(isOperator && client.tokenEndpointAuthMethod === "workload_jwt" ? ["workloads"] : []),
    ...(isOperator ? ["audit"] : []),
  ] as (keyof typeof TAB_NAMES)[];

export function ClientPage() {
  const { id } = useParams({ from: "/frame/clients/$id" });
  const { isOperator } = useViewer();
  const client = useClient(id);
  const acts = useQuery(trpc.viewer.client.queryOptions({ id }));
  if (!isThere(client) || acts.data === undefined) return <PendingScreen title={texts.title} of={[client, acts]} height={240} />;
  const part = { client: client.data as ClientRecord, can: acts.data.can };
  const { name, clientId, enabled, isAgent } = part.client;
  return (
    <Stack>
      <PageHead title={name} back={{ to: "/clients", label: texts.title }} state={<StateBadge enabled={enabled} />} detail={clientId}>
        {isAgent && isOperator && (
          <LinkButton variant="default" to="/agents/$id" params={{ id }}>
            {T.agents.forWhom}
          </LinkButton>
        )}
      </PageHead>
      <ClientTabs part={part} tabs={tabsFor(part, isOperator)} />
    </Stack>
  );
}

function ClientTabs({ part, tabs }: { readonly part: ClientPart; readonly tabs: readonly (keyof typeof TAB_NAMES)[] }) {
  const { tab = "settings" } = useSearch({ from: "/frame/clients/$id" });
  const navigate = useNavigate({ from: "/clients/$id" });
  return (
    <Tabs
      value={tabs.find((each) => each === tab) ?? "settings"}
      onChange={(value) => void navigate({ search: { tab: value ?? "settings" }, replace: true })}
      keepMounted={false} // but those in which a user types, or is given a secret
    >
      <Tabs.List>
        {tabs.map((each) => (
          <Tabs.Tab key={each} value={each}>
            {TAB_NAMES[each]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="settings" pt="md" keepMounted>
        <ClientSettings {...part} />
      </Tabs.Panel>
      <Tabs.Panel value="try" pt="md">
        <TryIt {...part} />
      </Tabs.Panel>
      <Tabs.Panel value="consents" pt="md">
        <ClientConsents {...part} />
      </Tabs.Panel>
      {tabs.includes("keys") && (
        <Tabs.Panel value="keys" pt="md" keepMounted>
          <ClientKeys {...part} />
        </Tabs.Panel>
      )}
      {tabs.includes("workloads") && (
        <Tabs.Panel value="workloads" pt="md" keepMounted>
          <ClientWorkloads {...part} />
        </Tabs.Panel>
      )}
      <Tabs.Panel value="audit" pt="md">
        <Records caption={texts.audit.tab} filter={{ clientId: part.client.clientId }} empty={texts.audit.empty} />
      </Tabs.Panel>
    </Tabs>
  );
}
