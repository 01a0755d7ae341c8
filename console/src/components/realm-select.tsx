import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";

/** Realms that can be chosen: the oldest, as many as a page of the list has. The default realm is the first. */
const MANY = { limit: 200 } as const;

interface RealmSelectProps {
  readonly label: string;
  readonly description?: string;
  /** undefined: the default realm. */
  readonly value: string | undefined;
  readonly onChange: (realmId: string) => void;
}

/** Chooses a realm; nothing where there is one alone. */
export function RealmSelect({ value, onChange, ...field }: RealmSelectProps) {
  const realms = useQuery(trpc.operator.realms.list.queryOptions(MANY)).data?.realms ?? [];
  if (realms.length < 2) return null;
  const options = realms.map(({ id, name }) => ({ value: id, label: name }));
  const others = value === undefined || options.some((option) => option.value === value) ? [] : [{ value, label: value }];
  return (
    <NativeSelect
      {...field}
      value={value ?? realms.find(({ name }) => name === "default")?.id ?? ""}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={[...options, ...others]}
    />
  );
}
