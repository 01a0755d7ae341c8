import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";
import { useViewer } from "../api/viewer.ts";
import { BASE, patience } from "../environment.ts";
import { T } from "../texts/texts.ts";

const { create: texts } = T.clients;
/** Suggestions that are shown at most. */
const MOST = 12;

interface WordsInputProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly description?: string;
}

/** The resources that clients can be for. Operators alone may read them. */
function useResources() {
  const { isOperator } = useViewer();
  const { data } = useQuery({ ...trpc.operator.resources.list.queryOptions({ enabled: true, limit: 200 }), enabled: isOperator });
  return data?.resources ?? [];
}

/** What the metadata of the server offers to everyone, for users who may not read resources. */
function useOfferedScopes(): readonly string[] {
  const { isKnown, isOperator } = useViewer();
  const queryFn = async () => {
    const answer = await fetch(`${BASE}/.well-known/openid-configuration`, { cache: "no-store", signal: patience() });
    return (await answer.json()) as { readonly scopes_supported?: readonly string[] };
  };
  const { data } = useQuery({ queryKey: ["scopes_supported"], queryFn, enabled: isKnown && !isOperator });
  return data?.scopes_supported ?? [];
}

/** Scopes, with those of the resources to choose from. */
export function ScopeInput({ value, onChange, description = texts.scopesDetail }: WordsInputProps) {
  const ofResources = useResources().flatMap(({ scopes }) => scopes.map(({ name }) => name));
  const known = [...ofResources, ...useOfferedScopes()];
  return <WordsInput {...{ value, onChange, description, known }} label={texts.scopes} add={texts.addScope} />;
}

/** The resources that a client calls in its own name, or speaks for. */
export function ResourceInput({ value, onChange, description = texts.resourcesDetail }: WordsInputProps) {
  const known = useResources().map(({ resource }) => resource);
  return <WordsInput {...{ value, onChange, description, known }} label={texts.resources} add={texts.addResource} />;
}

interface Suggesting extends WordsInputProps {
  readonly label: string;
  readonly known: readonly string[];
  readonly add: (word: string) => string;
}

/** Words separated by spaces, with those that are known to choose from. */
function WordsInput({ value, onChange, description, label, known, add }: Suggesting) {
  const given = value.split(/\s+/);
  const offered = [...new Set(known)].filter((word) => !given.includes(word)).slice(0, MOST);
  return (
    <Stack gap={6}>
      <TextInput label={label} description={description} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
      {offered.length > 0 && (
        <Group gap={6}>
          {offered.map((word) => (
            <Button
              key={word}
              size="compact-xs"
              variant="default"
              className="foreign"
              aria-label={add(word)}
              onClick={() => onChange(`${value.trim()} ${word}`.trim())}
            >
              + {word}
            </Button>
          ))}
        </Group>
      )}
    </Stack>
  );
}
