import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";
import { FailureNote } from "./failure.tsx";

/** As many as a page of the list has, the oldest first. */
const MANY = { limit: 200 } as const;
const DEFAULT = "default";

/** The realms that can be chosen, and the default one among them; none until they are read. */
export function useRealms() {
  const found = useQuery(trpc.operator.realms.list.queryOptions(MANY));
  const realms = found.data?.realms ?? [];
  return { realms, found, byDefault: realms.find(({ name }) => name === DEFAULT)?.id };
}

interface RealmSelectProps {
  readonly label: string;
  readonly description?: string;
  /** undefined: the default realm. */
  readonly value: string | undefined;
  readonly onChange: (realmId: string, name: string) => void;
  readonly disabled?: boolean;
}

/** Chooses a realm; nothing where there is one alone, and why where realms cannot be read. */
export function RealmSelect({ value, onChange, ...field }: RealmSelectProps) {
  const { realms, found, byDefault } = useRealms();
  if (found.data === undefined) return found.error && <FailureNote error={found.error} retry={() => void found.refetch()} />;
  if (realms.length < 2) return null;
  const chosen = value ?? byDefault ?? "";
  const options = realms.map(({ id, name }) => ({ value: id, label: name }));
  const others = options.some((option) => option.value === chosen) ? [] : [{ value: chosen, label: chosen }];
  return (
    <NativeSelect
      {...field}
      value={chosen}
      onChange={({ currentTarget: { value: id } }) => onChange(id, realms.find((realm) => realm.id === id)?.name ?? id)}
      data={[...options, ...others]}
    />
  );
}
