import { Badge, Group, Stack, Text } from "@mantine/core";
import { api, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { shownNumber, T } from "../../texts/texts.ts";
import { RecordTable } from "../audit/records.tsx";
import type { Resource } from "./record.ts";

const { resources: texts } = T;
/** Milliseconds between two looks. */
const LOOK = 10_000;

/** Token requests that named the resource and were refused. */
export function Refusals({ resource: { realmId, resource } }: { readonly resource: Resource }) {
  const named = { realmId, resource };
  const pages = usePages(
    trpc.operator.resources.refusals.queryKey(named),
    (cursor, signal) => api.operator.resources.refusals.query({ ...named, ...cursor }, { signal }),
    LOOK,
  );
  const reasons = pages.data?.pages[0]?.reasons ?? [];
  return (
    <Stack>
      <Text>{texts.refusalsDetail}</Text>
      {reasons.length > 0 && (
        <Group gap="xs" role="list" aria-label={texts.reasons}>
          {reasons.map(({ reason, count }) => (
            <Badge key={reason} color="red" size="lg" role="listitem">
              {reason} {shownNumber(count)}
            </Badge>
          ))}
        </Group>
      )}
      <RecordTable pages={pages} caption={texts.refusals} empty={texts.noRefusals} />
    </Stack>
  );
}
