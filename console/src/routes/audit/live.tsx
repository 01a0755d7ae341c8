import type { ManagementRouter } from "@countersign/admin";
import { Alert, Button, Text } from "@mantine/core";
import { createTRPCClient, httpSubscriptionLink } from "@trpc/client";
import { EventSource } from "eventsource";
import { useEffect, useRef, useState } from "react";
import { type ManagementInputs, queryClient, trpc } from "../../api/client.ts";
import { failureOf } from "../../api/failure.ts";
import { accessToken, forgetToken } from "../../auth/session.ts";
import { DataTable } from "../../components/data-table.tsx";
import { FailureNote } from "../../components/failure.tsx";
import { BASE } from "../../environment.ts";
import { T } from "../../texts/texts.ts";
import { columnsOf } from "./columns.tsx";
import { useOpenedRecord } from "./record.tsx";
import type { AuditRecord } from "./sentence.tsx";

const { audit: texts } = T;
/** Records that the screen keeps. */
const KEPT = 500;
/** Milliseconds before a stream that ended is opened again. */
const PAUSE = 1_000;

interface LiveProps {
  readonly filter: NonNullable<ManagementInputs["live"]["audit"]>;
}

/** Records as they are sealed, the newest first. A stream that ends is resumed after the last record. */
export function Live({ filter }: LiveProps) {
  const { open: openRecord, dialog } = useOpenedRecord();
  const [records, setRecords] = useState<readonly AuditRecord[]>([]);
  const [missed, setMissed] = useState(0);
  const [isOpen, setIsOpen] = useState(false);
  const [refused, setRefused] = useState<unknown>();
  const last = useRef<string>(undefined);
  const wanted = JSON.stringify(filter);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let close = (): void => undefined;
    let hasEnded = false;
    const open = (): void => {
      const input = { ...JSON.parse(wanted), ...(last.current !== undefined && { lastEventId: last.current }) };
      const subscription = live.live.audit.subscribe(input, {
        onConnectionStateChange: ({ state }) => {
          setIsOpen(state === "pending");
          // It ends with the rights of its user, and a user with fewer has a stream with less in it.
          if (state === "pending" && hasEnded) void queryClient.invalidateQueries({ queryKey: trpc.viewer.get.queryKey() });
        },
        onData: ({ id, data }) => {
          last.current = id;
          setMissed((before) => before + data.missed);
          setRecords((before) => [...(data.records as AuditRecord[]).toReversed(), ...before].slice(0, KEPT));
        },
        onError: (error) => {
          setIsOpen(false);
          hasEnded = true;
          const { status = 0 } = failureOf(error);
          if (status === 400 || status === 403) return setRefused(error); // it would be again
          if (status === 401) forgetToken();
          timer = setTimeout(open, PAUSE);
        },
      });
      close = () => subscription.unsubscribe();
    };
    open();
    return () => {
      clearTimeout(timer);
      close();
    };
  }, [wanted]);
  const pages = {
    data: { pages: [{ records }] },
    error: null,
    hasNextPage: false,
    isFetchingNextPage: false,
    fetchNextPage: () => undefined,
    refetch: () => undefined,
  };
  if (refused) return <FailureNote error={refused} />;
  return (
    <>
      <Text role="status" c="dimmed">
        {isOpen ? texts.isLive : texts.connecting}
      </Text>
      {missed > 0 && (
        <Alert color="yellow">
          {texts.missed(missed)}{" "}
          <Button size="xs" variant="default" onClick={() => location.reload()}>
            {texts.reload}
          </Button>
        </Alert>
      )}
      <DataTable
        caption={texts.liveCaption}
        columns={columnsOf(openRecord)}
        pages={pages}
        rowsOf={(page) => page.records}
        keyOf={({ id }) => id}
        empty={{ text: texts.waiting }}
      />
      {dialog}
    </>
  );
}

/** Streams of the API. Each connection is made with a token that is valid then; the browser's own EventSource could send none. */
const live = createTRPCClient<ManagementRouter>({
  links: [
    httpSubscriptionLink({
      url: `${BASE}/trpc`,
      EventSource,
      eventSourceOptions: {
        fetch: async (input, init) =>
          fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${await accessToken()}` } }),
      },
    }),
  ],
});
