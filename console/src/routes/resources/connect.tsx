import { Stack, Tabs, Text } from "@mantine/core";
import { CopyBlock } from "../../components/copy.tsx";
import { Section } from "../../components/section.tsx";
import { ISSUER } from "../../environment.ts";
import { T } from "../../texts/texts.ts";
import type { Resource } from "./record.ts";
import { clientSnippets, type Snippet, serverSnippets } from "./snippets.ts";

const { resources: texts } = T;

/** What to paste into the server and into its clients, filled in. */
export function Connect({ resource: { resource, name, scopes } }: { readonly resource: Resource }) {
  const values = { issuer: ISSUER, resource, name, scopes: scopes.map((scope) => scope.name) };
  const [guard, ...servers] = serverSnippets(values);
  return (
    <Stack maw="60rem">
      <Section title={texts.servers}>
        <Text>{texts.serversDetail}</Text>
        <Choice label={texts.servers} snippets={servers} before={(id) => (OTHER_LANGUAGES.has(id) ? undefined : guard)} />
      </Section>
      <Section title={texts.clientsOf}>
        <Text>{texts.clientsDetail}</Text>
        <Choice label={texts.clientsOf} snippets={clientSnippets(values)} before={() => undefined} />
      </Section>
    </Stack>
  );
}

/** Those that do without the guard for JavaScript. */
const OTHER_LANGUAGES: ReadonlySet<string> = new Set(["fastmcp", "go"]);

interface ChoiceProps {
  readonly label: string;
  readonly snippets: readonly Snippet[];
  /** What goes with a snippet, and is shown first. */
  readonly before: (id: string) => Snippet | undefined;
}

/** One snippet at a time. */
const Choice = ({ label, snippets, before }: ChoiceProps) => (
  <Tabs variant="pills" defaultValue={snippets[0]?.id ?? null} keepMounted={false}>
    <Tabs.List aria-label={label}>
      {snippets.map(({ id, label: name }) => (
        <Tabs.Tab key={id} value={id}>
          {name}
        </Tabs.Tab>
      ))}
    </Tabs.List>
    {snippets.map((snippet) => {
      const first = before(snippet.id);
      return (
        <Tabs.Panel key={snippet.id} value={snippet.id} pt="sm">
          <Stack gap="sm">
            {texts.snippetNotes[snippet.id] !== undefined && <Text c="dimmed">{texts.snippetNotes[snippet.id]}</Text>}
            {first !== undefined && <CopyBlock label={first.label} text={first.code} />}
            <CopyBlock label={snippet.label} text={snippet.code} />
          </Stack>
        </Tabs.Panel>
      );
    })}
  </Tabs>
);
