import { Group, Paper, SimpleGrid, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { trpc } from "../../api/client.ts";
import { useViewer } from "../../api/viewer.ts";
import { Pending } from "../../components/failure.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { shownAgo, T } from "../../texts/texts.ts";

const { home: texts } = T;

/** Milliseconds between two looks, while there are steps to tick. */
const LOOK = 3000;

interface Step {
  /** Of `texts.steps`. */
  readonly index: 0 | 1 | 2;
  readonly isDone: boolean;
  /** Shown in place of the detail once it is done. */
  readonly result?: string | undefined;
  /** The way to do it. */
  readonly act?: ReactNode;
}

const actOf = (index: 0 | 1, to: "/resources/new" | "/clients/new"): ReactNode => (
  <LinkButton to={to} size="xs" variant="light" c="var(--mantine-color-text)">
    {texts.steps[index].act}
  </LinkButton>
);

const tryAct = (client: { readonly id: string } | undefined): ReactNode =>
  client && (
    <LinkButton
      to="/clients/$id"
      params={{ id: client.id }}
      search={{ tab: "try" }}
      size="xs"
      variant="light"
      c="var(--mantine-color-text)"
    >
      {texts.steps[2].act}
    </LinkButton>
  );

/** How long until the next look, of which there is none once what is looked for is there. */
const untilThere =
  <Data,>(isThere: (data: Data) => boolean) =>
  ({ state: { data } }: { readonly state: { readonly data: Data | undefined } }): number | false =>
    data !== undefined && isThere(data) ? false : LOOK;

const isOfOthers = ({ clientId }: { readonly clientId?: string | undefined }): boolean =>
  clientId !== "countersign-console" && clientId !== "countersign";

/** What a first operator has to do, ticked as it happens. */
export function FirstSteps() {
  const resources = useQuery({
    ...trpc.operator.resources.list.queryOptions({ limit: 1 }),
    refetchInterval: untilThere((found) => found.resources.length > 0),
  });
  const clients = useQuery({
    ...trpc.operator.clients.list.queryOptions({ sort: "lastUsed", limit: 10 }),
    refetchInterval: untilThere((found) => found.clients.some(({ origin, lastUsedAt }) => origin !== "built_in" && lastUsedAt !== null)),
  });
  const tokens = useQuery({
    ...trpc.operator.audit.list.queryOptions({ event: "token.issued", limit: 10 }),
    refetchInterval: untilThere((found) => found.records.some(isOfOthers)),
  });
  if (resources.data === undefined || clients.data === undefined || tokens.data === undefined)
    return <Pending of={[resources, clients, tokens]} height={140} />;
  const issued = tokens.data.records.find(isOfOthers);
  const client = clients.data.clients.find(({ origin }) => origin !== "built_in");
  const lastCall = client?.lastUsedAt ?? issued?.at; // only records name clients of metadata documents
  return (
    <Steps
      steps={[
        { index: 0, isDone: resources.data.resources.length > 0, act: actOf(0, "/resources/new") },
        { index: 1, isDone: client !== undefined, act: actOf(1, "/clients/new") },
        {
          index: 2,
          isDone: lastCall !== undefined,
          result: lastCall === undefined ? undefined : texts.lastCall(shownAgo(lastCall)),
          act: tryAct(client),
        },
      ]}
    />
  );
}

/** Resources are operators' alone. */
export function DeveloperSteps() {
  const { can } = useViewer();
  const own = useQuery({
    ...trpc.clients.list.queryOptions(),
    refetchInterval: untilThere((found) => found.clients.some(({ lastUsedAt }) => lastUsedAt !== null)),
  });
  if (own.data === undefined) return <Pending of={[own]} height={140} />;
  const { clients } = own.data;
  const isUsed = clients.some(({ lastUsedAt }) => lastUsedAt !== null);
  return (
    <Steps
      steps={[
        { index: 1, isDone: clients.length > 0, act: can.createClients && actOf(1, "/clients/new") },
        { index: 2, isDone: isUsed, act: tryAct(clients[0]) },
      ]}
    />
  );
}

/** Those that were done when the screen was opened are of no use to anyone any more. */
function Steps({ steps }: { readonly steps: readonly Step[] }) {
  const [wereDone] = useState(() => steps.every(({ isDone }) => isDone));
  if (wereDone) return null;
  return (
    <SimpleGrid cols={{ base: 1, md: steps.length }} component="ol" className="steps" aria-label={texts.firstSteps}>
      {steps.map((step, position) => (
        <StepCard key={step.index} {...step} number={position + 1} />
      ))}
    </SimpleGrid>
  );
}

const StepCard = ({ index, isDone, result, act, number }: Step & { readonly number: number }) => (
  <Paper withBorder p="md" component="li">
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <ThemeIcon radius="xl" size="md" variant={isDone ? "filled" : "default"} color="teal.9" aria-hidden="true">
        {isDone ? "✓" : number}
      </ThemeIcon>
      <Stack gap={6} align="flex-start">
        <Title order={2} size="h4">
          {texts.steps[index].title}
        </Title>
        <Text>{isDone && result !== undefined ? result : texts.steps[index].detail}</Text>
        <Text c="dimmed" size="xs" role="status">
          {isDone ? texts.done : texts.open}
        </Text>
        {!isDone && act}
      </Stack>
    </Group>
  </Paper>
);
