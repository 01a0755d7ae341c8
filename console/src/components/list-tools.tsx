import { Button, CloseButton, Group, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { Icon } from "../frame/icons.tsx";
import { T } from "../texts/texts.ts";
import { timeOf } from "./list-search.ts";

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
  /** Members of the address that are times, with their labels. */
  readonly times?: readonly (readonly [key: string, label: string])[];
  /** Writes members of the address; undefined removes one. */
  readonly onChange: (members: Readonly<Record<string, string | undefined>>) => void;
}

/** A time of the address as its field shows it, in the zone of the browser; empty for none. */
const localOf = (time: string | undefined): string => {
  const at = timeOf(time);
  return at === undefined ? "" : new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

interface TimeFieldProps {
  readonly label: string;
  readonly time: string | undefined;
  readonly onChange: (time: string | undefined) => void;
}

/** Without it a year is typed with six digits. */
const LAST = "9999-12-31T23:59";

/** Keeps what is typed: a year is typed digit by digit, and those before the last are years of which no list has anything. */
function TimeField({ label, time, onChange }: TimeFieldProps) {
  const [text, setText] = useState(localOf(time));
  const written = useRef(time);
  useEffect(() => {
    if (time !== written.current) setText(localOf(time));
    written.current = time;
  }, [time]);
  const type = (value: string): void => {
    setText(value);
    written.current = timeOf(value) === undefined ? undefined : new Date(value).toISOString();
    onChange(written.current);
  };
  return (
    <TextInput type="datetime-local" max={LAST} label={label} value={text} onChange={({ currentTarget }) => type(currentTarget.value)} />
  );
}

/** Milliseconds after the last key before the server is asked. */
const PAUSE = 250;
/** Letters that the server searches for at most. */
export const MOST = 512;

/** Search and filters above a list. All they hold is in the address, so a view can be sent to others. */
export function ListTools({ searchLabel, search, filters, times = [], onChange }: ListToolsProps) {
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
  const keys = [...filters.map(({ key }) => key), ...times.map(([key]) => key)];
  const active = keys.filter((key) => search[key] !== undefined);
  const none = Object.fromEntries(["q", ...keys].map((key) => [key, undefined]));
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
      {times.map(([key, label]) => (
        <TimeField key={key} label={label} time={search[key]} onChange={(time) => onChange({ [key]: time })} />
      ))}
      {(active.length > 0 || text !== "") && (
        <Button variant="subtle" onClick={clear}>
          {T.common.clear}
        </Button>
      )}
    </Group>
  );
}
