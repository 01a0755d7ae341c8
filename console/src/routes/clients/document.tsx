import { Badge, Code, Stack, Table, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Navigate, useNavigate, useSearch } from "@tanstack/react-router";
import { type ManagementOutputs, trpc } from "../../api/client.ts";
import { failureOf } from "../../api/failure.ts";
import { useViewer } from "../../api/viewer.ts";
import { CopyBlock } from "../../components/copy.tsx";
import { Pending } from "../../components/failure.tsx";
import { oneOf } from "../../components/list-search.ts";
import { PageHead } from "../../components/page-head.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { Section } from "../../components/section.tsx";
import { shownAgo, shownMoment, shownNumber, T } from "../../texts/texts.ts";
import { Records } from "../audit/records.tsx";
import { AllConsents } from "./consents.tsx";

const { document: texts } = T.clients;
type Version = ManagementOutputs["operator"]["clients"]["document"]["versions"][number];

const TABS = ["document", "consents", "audit"] as const;

/** A client that publishes a metadata document, which is all that there is of it: it has no record. */
export function DocumentClient() {
  const { client = "", tab } = useSearch({ from: "/frame/clients/document" });
  const navigate = useNavigate({ from: "/clients/document" });
  const { isKnown, isOperator } = useViewer();
  const head = { title: URL.parse(client)?.host || client, back: { to: "/clients", label: T.clients.title } };
  if (client === "") return <Navigate to="/clients" replace />;
  if (!isOperator) return <PageHead {...head} detail={isKnown && T.failure.operators} />;
  return (
    <Stack>
      <PageHead {...head} state={<Badge color="blue">{texts.kind}</Badge>} detail={client} />
      <Tabs
        value={oneOf(TABS, tab) ?? "document"}
        onChange={(value) => void navigate({ search: { client, tab: value ?? "document" }, replace: true })}
        keepMounted={false}
      >
        <Tabs.List>
          <Tabs.Tab value="document">{texts.tab}</Tabs.Tab>
          <Tabs.Tab value="consents">{T.clients.consents.tab}</Tabs.Tab>
          <Tabs.Tab value="audit">{T.clients.audit.tab}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="document" pt="md">
          <Versions clientId={client} />
        </Tabs.Panel>
        <Tabs.Panel value="consents" pt="md">
          <AllConsents clientId={client} name={client} />
        </Tabs.Panel>
        <Tabs.Panel value="audit" pt="md">
          <Records caption={T.clients.audit.tab} filter={{ clientId: client }} empty={T.clients.audit.empty} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

function Versions({ clientId }: { readonly clientId: string }) {
  const found = useQuery({ ...trpc.operator.clients.document.queryOptions({ clientId }), retry: false });
  if (failureOf(found.error).code === "not_found") return <Text>{texts.none}</Text>;
  if (found.data === undefined) return <Pending of={[found]} height={200} />;
  const { versions } = found.data;
  const [newest] = versions;
  return (
    <Stack maw="60rem">
      {newest !== undefined && <Newest {...newest} />}
      <Section title={texts.history} empty={versions.length < 2 ? texts.unchanged : undefined}>
        {versions
          .filter(({ changes }) => changes.length > 0)
          .map((version) => (
            <Changes key={version.version} {...version} />
          ))}
      </Section>
    </Stack>
  );
}

const Newest = ({ document, digest, size, from, lastFetchedAt }: Version) => (
  <Section title={texts.tab}>
    <dl className="facts">
      <dt>SHA-256</dt>
      <dd>
        <Code>{digest}</Code>
      </dd>
      <dt>{texts.size}</dt>
      <dd>{texts.bytes(shownNumber(size))}</dd>
      <dt>{texts.since}</dt>
      <dd>{shownMoment(from)}</dd>
      <dt>{texts.fetched}</dt>
      <dd title={shownMoment(lastFetchedAt)}>{shownAgo(lastFetchedAt)}</dd>
    </dl>
    <CopyBlock label={texts.content} text={JSON.stringify(JSON.parse(document), null, 2)} />
  </Section>
);

const HEADERS = [{ text: texts.member }, { text: texts.before }, { text: texts.after }];
const shown = (value: unknown): string => (value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value));

const Changes = ({ from, until, digest, changes }: Version) => (
  <div>
    <Text fw={600}>{texts.changed(shownMoment(from), until === null ? undefined : shownMoment(until))}</Text>
    <Text size="xs" c="dimmed" className="foreign">
      SHA-256 {digest}
    </Text>
    <PlainTable caption={texts.changed(shownMoment(from), undefined)} headers={HEADERS}>
      {changes.map(({ member, before, after }) => (
        <Table.Tr key={member}>
          <Table.Td className="foreign">
            <Code>{member}</Code>
          </Table.Td>
          <Table.Td className="foreign">{shown(before)}</Table.Td>
          <Table.Td className="foreign">{shown(after)}</Table.Td>
        </Table.Tr>
      ))}
    </PlainTable>
  </div>
);
