import { Badge, Text, UnstyledButton } from "@mantine/core";
import type { Column } from "../../components/data-table.tsx";
import { shownMoment, shownTime, T } from "../../texts/texts.ts";
import { Actor, type AuditRecord, didOf, reasonOf } from "./sentence.tsx";

const { audit: texts } = T;

/** In the order of a sentence: when, who, what, and whether it was done. On a narrow screen one cell has all but the last. */
export const columnsOf = (open: (record: AuditRecord) => void): readonly Column<AuditRecord>[] => [
  { id: "at", header: texts.at, tight: true, low: true, cell: ({ at }) => <span title={shownMoment(at)}>{shownTime(at)}</span> },
  { id: "actor", header: texts.actor, low: true, cell: (record) => <Actor {...record} /> },
  {
    id: "event",
    header: texts.event,
    cell: (record) => (
      <>
        <Text component="div" className="narrow">
          <Actor {...record} />
        </Text>
        <UnstyledButton
          fz="sm"
          className="row-link words"
          onClick={() => open(record)}
          aria-label={texts.open(didOf(record), shownMoment(record.at), record.event)}
        >
          {didOf(record)}
        </UnstyledButton>
        <Text size="xs" c="dimmed">
          <span className="narrow">{shownTime(record.at)} · </span>
          {record.event}
          {record.outcome === "success" && record.reason !== undefined && ` · ${record.reason}`}
        </Text>
      </>
    ),
  },
  {
    id: "outcome",
    header: texts.outcome,
    cell: (record) => (
      <>
        <Badge color={record.outcome === "success" ? "teal" : "red"}>{texts.outcomes[record.outcome]}</Badge>
        {record.outcome === "failure" && (
          <Text size="xs" c="dimmed" mt={2}>
            {reasonOf(record)}
          </Text>
        )}
      </>
    ),
  },
];
