import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";
import { useViewer } from "../api/viewer.ts";
import { T } from "../texts/texts.ts";

const { create: texts } = T.clients;
/** Suggestions that are shown at most. */
const MOST = 12;

interface ScopeInputProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly description?: string;
}

/** Scopes, with those of the resources to choose from. Operators alone may read what resources there are. */
export function ScopeInput({ value, onChange, description = texts.scopesDetail }: ScopeInputProps) {
  const { isOperator } = useViewer();
  const { data } = useQuery({ ...trpc.operator.resources.list.queryOptions({ enabled: true, limit: 200 }), enabled: isOperator });
  const given = value.split(/\s+/);
  const known = new Set((data?.resources ?? []).flatMap(({ scopes }) => scopes.map(({ name }) => name)));
  const offered = [...known].filter((scope) => !given.includes(scope)).slice(0, MOST);
  return (
    <Stack gap={6}>
      <TextInput
        label={texts.scopes}
        description={description}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {offered.length > 0 && (
        <Group gap={6}>
          {offered.map((scope) => (
            <Button
              key={scope}
              size="compact-xs"
              variant="default"
              className="foreign"
              aria-label={texts.addScope(scope)}
              onClick={() => onChange(`${value.trim()} ${scope}`.trim())}
            >
              + {scope}
            </Button>
          ))}
        </Group>
      )}
    </Stack>
  );
}
