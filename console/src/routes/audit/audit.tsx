import { Button, Code, Group, Modal, Pill, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { exportLines } from "../../../../src/audit-chain/export.ts";
import { api } from "../../api/client.ts";
import { FailureNote } from "../../components/failure.tsx";
import { type ListSearch, oneOf, timeOf } from "../../components/list-search.ts";
import { type Filter, ListTools } from "../../components/list-tools.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { T } from "../../texts/texts.ts";
import { Live } from "./live.tsx";
import { type AuditFilter, Records } from "./records.tsx";
import type { AuditRecord } from "./sentence.tsx";

const IDENTIFIERS = ["reason", "actorId", "userId", "clientId", "grantId", "jti", "requestId", "resource"] as const;
type Search = ListSearch<"q" | "event" | "outcome" | "since" | "until" | (typeof IDENTIFIERS)[number]>;

const { audit: texts } = T;
const EVENTS = Object.keys(texts.did) as AuditRecord["event"][];
const OUTCOMES = ["success", "failure"] as const;
const FILTERS: readonly Filter[] = [
  { key: "event", label: texts.event, options: EVENTS.map((event) => [event, event]) },
  { key: "outcome", label: texts.outcome, options: OUTCOMES.map((outcome) => [outcome, texts.outcomes[outcome]]) },
];

const TIMES = [
  ["since", texts.since],
  ["until", texts.until],
] as const;

const filterOf = ({ q, event, outcome, since, until, ...identifiers }: Search): AuditFilter => ({
  ...identifiers,
  ...(q !== undefined && { search: q }),
  event: oneOf(EVENTS, event),
  outcome: oneOf(OUTCOMES, outcome),
  since: timeOf(since),
  until: timeOf(until),
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
      <ListTools searchLabel={texts.search} search={search} filters={FILTERS} times={TIMES} onChange={change} />
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

const FILE = "countersign-audit.ndjson";

/** Milliseconds in which the browser has begun to read the file. */
const READ = 60_000;

/** The whole trail as a file, part by part. */
async function exported(): Promise<Blob> {
  const { audit: trail, signingKeys } = api.operator;
  const source = {
    keys: async () => (await signingKeys.list.query()).signingKeys,
    part: (limit: number, after: number) => trail.export.query({ limit, after }),
  };
  const lines: string[] = [];
  for await (const line of exportLines(source, (await trail.chain.query()).start)) lines.push(`${line}\n`);
  return new Blob(lines, { type: "application/x-ndjson" });
}

function save(blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = FILE;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), READ);
}

/** Downloads the trail, and says how to verify it without this server. */
function Export() {
  const { mutate, isPending, isIdle, error, reset } = useMutation({ mutationFn: async () => save(await exported()) });
  return (
    <>
      <Button variant="default" loading={isPending} onClick={() => mutate()}>
        {texts.export}
      </Button>
      <Modal opened={!isIdle && !isPending} onClose={reset} title={error ? texts.export : texts.verifyTitle}>
        {error ? (
          <FailureNote error={error} />
        ) : (
          <Stack>
            <Text>{texts.verifyText}</Text>
            <Code block>{`npx countersign audit verify ${FILE}`}</Code>
            <Text size="sm">{texts.verifyTrust}</Text>
          </Stack>
        )}
      </Modal>
    </>
  );
}
