import { Button, CloseButton, Group, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { Icon } from "../frame/icons.tsx";
import { T } from "../texts/texts.ts";

/** A filter of a list: its member of the address, and its values with their names. */
export interface Filter {
  readonly key: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, name: string])[];
}

/** Enabled or not, in the member `enabled`. */
export const STATE_FILTER: Filter = {
  key: "enabled",
  label: T.common.state,
  options: [
    ["true", T.common.enabled],
    ["false", T.common.disabled],
  ],
};

interface ListToolsProps {
  readonly searchLabel: string;
  /** The members of the address. */
  readonly search: Readonly<Record<string, string | undefined>>;
  readonly filters: readonly Filter[];
  /** Writes members of the address; undefined removes one. */
  readonly onChange: (members: Readonly<Record<string, string | undefined>>) => void;
}

/** Milliseconds after the last key before the server is asked. */
const PAUSE = 250;
/** Letters that the server searches for at most. */
export const MOST = 512;

/** Search and filters above a list. All they hold is in the address, so a view can be sent to others. */
export function ListTools({ searchLabel, search, filters, onChange }: ListToolsProps) {
  const [text, setText] = useState(search.q ?? "");
  const written = useRef(search.q);
  const write = useDebouncedCallback((q: string | undefined, screen: string) => {
    if (location.pathname !== screen) return; // the user has gone on to another screen
    written.current = q;
    onChange({ q });
  }, PAUSE);
  useEffect(() => {
    if (search.q !== written.current) {
      write.cancel();
      setText(search.q ?? ""); // what this field wrote may be older than what it holds
    }
    written.current = search.q;
  }, [search.q, write]);
  const type = (q: string): void => {
    setText(q);
    write(q.trim() || undefined, location.pathname);
  };
  const clear = (): void => {
    write.cancel();
    setText("");
    onChange(none);
  };
  const active = filters.filter(({ key }) => search[key] !== undefined);
  const none = Object.fromEntries([["q", undefined], ...filters.map(({ key }) => [key, undefined])]);
  return (
    <Group role="search" aria-label={T.common.filters} align="end" gap="sm">
      <TextInput
        type="search"
        label={searchLabel}
        maxLength={MOST}
        value={text}
        onChange={({ currentTarget }) => type(currentTarget.value)}
        leftSection={<Icon name="search" size={14} />}
        rightSection={text !== "" && <CloseButton size="sm" aria-label={T.common.clear} onClick={() => type("")} />}
        flex="1 1 14rem"
      />
      {filters.map(({ key, label, options }) => (
        <NativeSelect
          key={key}
          label={label}
          value={search[key] ?? ""}
          onChange={({ currentTarget }) => onChange({ [key]: currentTarget.value || undefined })}
          data={[{ value: "", label: T.common.any }, ...options.map(([value, name]) => ({ value, label: name }))]}
        />
      ))}
      {(active.length > 0 || text !== "") && (
        <Button variant="subtle" onClick={clear}>
          {T.common.clear}
        </Button>
      )}
    </Group>
  );
}
