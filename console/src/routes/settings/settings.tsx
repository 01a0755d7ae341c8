import { Alert, Button, Code, Group, List, Stack, Table, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { FailureNote, PendingScreen } from "../../components/failure.tsx";
import { ListTools } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { LANGUAGE } from "../../environment.ts";
import { shownNumber, T } from "../../texts/texts.ts";

const { settings: texts } = T;

type Deployment = ManagementOutputs["operator"]["deployment"]["get"];
type Setting = ManagementOutputs["operator"]["deployment"]["settings"]["settings"][number];
type Limit = ManagementOutputs["operator"]["deployment"]["settings"]["limits"][number];

/** How the server is configured. Settings are read at its start, so that nothing here changes them. */
export function SettingsPage() {
  const { q } = useSearch({ from: "/frame/settings" });
  const navigate = useNavigate({ from: "/settings" });
  const deployment = useQuery(trpc.operator.deployment.get.queryOptions());
  const settings = useQuery(trpc.operator.deployment.settings.queryOptions());
  if (deployment.data === undefined || settings.data === undefined)
    return <PendingScreen title={texts.title} of={[deployment, settings]} height={320} />;
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.lead} />
      <Unsafe names={deployment.data.unsafe} />
      <Facts deployment={deployment.data} />
      <MailTest />
      <Title order={2}>{texts.all}</Title>
      {texts.reference !== "" && <Text>{texts.reference}</Text>}
      <ListTools
        searchLabel={texts.search}
        search={{ q }}
        filters={[]}
        onChange={(members) => void navigate({ search: members, replace: true })}
      />
      <Settings settings={settings.data.settings} search={q ?? ""} />
      <Limits limits={settings.data.limits} />
    </Stack>
  );
}

function Unsafe({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return <Alert color="teal">{texts.safe}</Alert>;
  return (
    <Alert color="yellow" title={texts.unsafe}>
      <List>
        {names.map((name) => (
          <List.Item key={name}>
            <Code>{name}</Code> {texts.unsafeReasons[name]}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

const Facts = ({ deployment: { issuer, environment, database, mail, redis } }: { readonly deployment: Deployment }) => (
  <dl className="facts">
    <dt>{texts.issuer}</dt>
    <dd>{issuer}</dd>
    <dt>{texts.environment}</dt>
    <dd>{environment}</dd>
    <dt>{texts.database}</dt>
    <dd>{texts.databases[database.kind]}</dd>
    <dt>{texts.mail}</dt>
    <dd>{texts.mails[mail]}</dd>
    <dt>Redis</dt>
    <dd>{redis ? T.common.yes : T.common.no}</dd>
  </dl>
);

function MailTest() {
  const test = useMutation({ mutationFn: () => api.operator.deployment.testMail.mutate({ language: LANGUAGE }) });
  return (
    <Stack gap="xs" align="flex-start">
      <Group>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {texts.testMail}
        </Button>
        <Text role="status">{test.data !== undefined && texts.mailSent(test.data.email)}</Text>
      </Group>
      {test.error && <FailureNote error={test.error} />}
    </Stack>
  );
}

const HEADERS = [
  { text: texts.name, width: "24%" },
  { text: texts.value, width: "20%" },
  { text: texts.origin, low: true, width: "12%" },
  { text: texts.meaning, low: true },
];

function Settings({ settings, search }: { readonly settings: readonly Setting[]; readonly search: string }) {
  const sought = search.toLowerCase();
  const found = settings.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(sought));
  const groups = [...new Set(found.map(({ group }) => group))];
  if (found.length === 0) return <Text>{texts.noMatch}</Text>;
  return groups.map((group) => (
    <section key={group}>
      <Title order={3}>{texts.groups[group] ?? group}</Title>
      <PlainTable caption={texts.groups[group] ?? group} headers={HEADERS}>
        {found
          .filter((each) => each.group === group)
          .map((each) => (
            <SettingRow key={each.name} {...each} />
          ))}
      </PlainTable>
    </section>
  ));
}

/** Descriptions are those of docs/settings.md. */
const plain = (markdown: string): string => markdown.replaceAll("`", "");

const SettingRow = ({ name, value, origin, isSecret, unset, description }: Setting) => (
  <Table.Tr>
    <Table.Td>
      <Code>{name}</Code>
    </Table.Td>
    <Table.Td className="foreign">
      {value ?? (isSecret && origin !== "default" ? texts.hidden : plain(texts.unset[name] ?? unset ?? T.common.none))}
    </Table.Td>
    <Table.Td className="low">{texts.origins[origin]}</Table.Td>
    <Table.Td className="low" lang="en">
      {plain(description)}
    </Table.Td>
  </Table.Tr>
);

const Limits = ({ limits }: { readonly limits: readonly Limit[] }) => (
  <section>
    <Title order={2}>{texts.limits}</Title>
    <PlainTable caption={texts.limits} headers={[{ text: texts.limited }, { text: texts.most }]}>
      {limits.map(({ name, requests, seconds, settings }) => (
        <Table.Tr key={name}>
          <Table.Td>
            {texts.limitNames[name] ?? name}
            {settings.length > 0 && (
              <Text size="xs" c="dimmed" className="foreign">
                {settings.join(", ")}
              </Text>
            )}
          </Table.Td>
          <Table.Td>{texts.within(shownNumber(requests), shownNumber(seconds))}</Table.Td>
        </Table.Tr>
      ))}
    </PlainTable>
  </section>
);
