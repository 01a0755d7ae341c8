import { Anchor, Code, Group, Modal, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ClientLink } from "../../components/client-link.tsx";
import { RequestLink } from "../../components/request-link.tsx";
import { shownMoment, T } from "../../texts/texts.ts";
import { type AuditRecord, Sentence } from "./sentence.tsx";

const { audit: texts } = T;

/** The record that was opened in a list, and its dialog. */
export function useOpenedRecord() {
  const [record, setRecord] = useState<AuditRecord>();
  return { open: setRecord, dialog: record && <RecordDialog record={record} onClose={() => setRecord(undefined)} /> };
}

/** A record as a sentence, with everything it holds below, and the ways on from it. */
function RecordDialog({ record, onClose }: { readonly record: AuditRecord; readonly onClose: () => void }) {
  const { at, seq, requestId, outcome, userId, clientId } = record;
  return (
    <Modal opened onClose={onClose} size="lg" title={texts.record}>
      <Stack>
        <Text size="md" className="foreign">
          <Sentence record={record} />
        </Text>
        <Text c="dimmed">
          {shownMoment(at)} · {seq === null ? texts.notSealed : texts.sealed(String(seq))}
        </Text>
        <Group>
          {outcome === "failure" && <RequestLink requestId={requestId}>{T.common.explainRequest}</RequestLink>}
          {userId !== undefined && (
            <Anchor component={Link} to="/users/$id" params={{ id: userId } as never} size="sm">
              {texts.user}
            </Anchor>
          )}
          {clientId !== undefined && <ClientLink clientId={clientId}>{texts.client}</ClientLink>}
        </Group>
        <Code block className="foreign">
          {JSON.stringify(record, null, 2)}
        </Code>
      </Stack>
    </Modal>
  );
}
