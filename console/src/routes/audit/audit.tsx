import { Button, Group, Pill, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ListSearch, oneOf } from "../../components/list-search.ts";
import { type Filter, ListTools } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { T } from "../../texts/texts.ts";
import { Export } from "./export.tsx";
import { Live } from "./live.tsx";
import { type AuditFilter, Records } from "./records.tsx";
import type { AuditRecord } from "./sentence.tsx";

const IDENTIFIERS = ["reason", "actorId", "userId", "clientId", "grantId", "jti", "requestId"] as const;
type Search = ListSearch<"q" | "event" | "outcome" | (typeof IDENTIFIERS)[number]>;

const { audit: texts } = T;
const EVENTS = Object.keys(texts.did) as AuditRecord["event"][];
const OUTCOMES = ["success", "failure"] as const;
const FILTERS: readonly Filter[] = [
  { key: "event", label: texts.event, options: EVENTS.map((event) => [event, event]) },
  { key: "outcome", label: texts.outcome, options: OUTCOMES.map((outcome) => [outcome, texts.outcomes[outcome]]) },
];

const filterOf = ({ q, event, outcome, ...identifiers }: Search): AuditFilter => ({
  ...identifiers,
  ...(q !== undefined && { search: q }),
  event: oneOf(EVENTS, event),
  outcome: oneOf(OUTCOMES, outcome),
});

export function AuditLog() {
  const search: Search = useSearch({ from: "/frame/audit" });
  const navigate = useNavigate({ from: "/audit" });
  const [isLive, { toggle }] = useDisclosure(false);
  const change = (members: Readonly<Record<string, string | undefined>>): void =>
    void navigate({ search: (before) => ({ ...before, ...members }) as Search, replace: true });
  const filter = filterOf(search);
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.lead}>
        <Button variant={isLive ? "filled" : "default"} aria-pressed={isLive} onClick={toggle}>
          {texts.follow}
        </Button>
        <Export />
      </PageHead>
      <ListTools searchLabel={texts.search} search={search} filters={FILTERS} onChange={change} />
      <Chips search={search} onRemove={(key) => change({ [key]: undefined })} />
      {isLive ? (
        <Live key={JSON.stringify(filter)} filter={filter} />
      ) : (
        <Records caption={texts.title} filter={filter} empty={texts.empty} />
      )}
    </Stack>
  );
}

/** Filters that came with a link, each of which can be taken away. */
function Chips({ search, onRemove }: { readonly search: Search; readonly onRemove: (key: string) => void }) {
  const given = IDENTIFIERS.flatMap((key) => (search[key] === undefined ? [] : [[key, search[key]] as const]));
  if (given.length === 0) return null;
  return (
    <Group gap="xs">
      {given.map(([key, value]) => (
        <Pill
          key={key}
          size="md"
          withRemoveButton
          onRemove={() => onRemove(key)}
          removeButtonProps={{ "aria-label": texts.removeFilter(texts.members[key]), "aria-hidden": false, tabIndex: 0 }}
        >
          <Text span size="sm" className="foreign">
            {texts.members[key]}: {value}
          </Text>
        </Pill>
      ))}
    </Group>
  );
}
