import { Alert, Button, Code, Group, List, Skeleton, Stack, Text } from "@mantine/core";
import { type Failure, failureOf } from "../api/failure.ts";
import { useViewer } from "../api/viewer.ts";
import { shownWait, T } from "../texts/texts.ts";
import { OtherRelease } from "./other-release.tsx";
import { PageHead } from "./page-head.tsx";
import { RequestLink } from "./request-link.tsx";

/** The statuses of refusals whose description says more than their code. */
const SAYS_MORE: readonly (number | undefined)[] = [400, 403, 409, 429, 503];

/** The statuses of refusals that the same call would get again. */
const FINAL: readonly (number | undefined)[] = [400, 403, 404];

/** The statuses of calls that a server of another release does not know, or not in this form. */
const OF_RELEASE: readonly (number | undefined)[] = [400, 404];

/** What went wrong, with the id of the request and, for operators, the way to its explanation. @param retry undefined where trying again changes nothing */
export function FailureNote({ error, retry }: { readonly error: unknown; readonly retry?: (() => void) | undefined }) {
  const { isOperator } = useViewer();
  const { message, status, requestId, retryAfter, issues, code } = failureOf(error);
  const fallback = status === undefined ? T.failure.unreachable : T.failure.internal;
  const description = code === "server_error" || message === undefined ? fallback : message;
  const sentence = T.failure.codes[code ?? ""];
  return (
    <Alert color="red" role="alert" title={T.failure.title} maw="60rem">
      <Text>{sentence ?? description}</Text>
      {sentence !== undefined && SAYS_MORE.includes(status) && description !== code && (
        <Text c="dimmed" lang="en">
          {description}
        </Text>
      )}
      {retryAfter !== undefined && <Text>{T.failure.again(shownWait(retryAfter))}</Text>}
      <Issues of={issues} />
      {OF_RELEASE.includes(status) && <OtherRelease />}
      <Group mt="sm" gap="md">
        {requestId !== undefined && (
          <Text>
            {T.common.requestId}: <Code>{requestId}</Code>{" "}
            {isOperator && <RequestLink requestId={requestId}>{T.common.explainRequest}</RequestLink>}
          </Text>
        )}
        {retry !== undefined && !FINAL.includes(status) && (
          <Button size="xs" variant="default" onClick={retry}>
            {T.common.retry}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

const Issues = ({ of: issues }: { readonly of: Failure["issues"] }) =>
  issues.length > 0 && (
    <List size="sm">
      {issues.map((issue) => (
        <List.Item key={issue.path + issue.message}>
          <Code>{issue.path}</Code> {issue.message}
        </List.Item>
      ))}
    </List>
  );

export interface Readable {
  readonly error: unknown;
  readonly refetch: () => unknown;
}

interface PendingProps {
  /** The queries of a screen, of which one has no data yet. */
  readonly of: readonly Readable[];
  readonly height: number;
}

/** In place of what is not there yet: its outline, or why it cannot be read. */
export function Pending({ of: queries, height }: PendingProps) {
  const error = queries.find((query) => query.error)?.error;
  if (!error) return <Skeleton height={height} />;
  return <FailureNote error={error} retry={() => void Promise.all(queries.map((query) => query.refetch()))} />;
}

/** Whether a screen has its record. One that somebody else has removed since is not shown as if it were there. */
export const isThere = <Found extends { readonly data: unknown; readonly error: unknown }>(
  found: Found,
): found is Found & { readonly data: NonNullable<Found["data"]> } => found.data !== undefined && failureOf(found.error).status !== 404;

/** In place of a whole screen, with a heading and a title, which else were those of the screen before. */
export const PendingScreen = ({ title, ...pending }: PendingProps & { readonly title: string }) => (
  <Stack>
    <PageHead title={title} />
    <Pending {...pending} />
  </Stack>
);
