import { Alert, Anchor, Code, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { trpc } from "../../api/client.ts";
import { useViewer } from "../../api/viewer.ts";
import { FailureNote } from "../../components/failure.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { shownAgo, shownNumber, T } from "../../texts/texts.ts";
import { Figures } from "./figures.tsx";
import { DeveloperSteps, FirstSteps } from "./steps.tsx";

const { home: texts } = T;

export function Home() {
  const { isKnown, isOperator } = useViewer();
  return (
    <Stack>
      <PageHead title={texts.title} />
      {isKnown && (isOperator ? <FirstSteps /> : <DeveloperSteps />)}
      {isOperator && <Unsafe />}
      {isKnown && <Figures isOperator={isOperator} />}
      {isOperator && <Health />}
    </Stack>
  );
}

/** Settings that should not stay as they are, as `countersign doctor` names them. */
function Unsafe() {
  const { data } = useQuery(trpc.operator.deployment.get.queryOptions());
  if (data === undefined || data.unsafe.length === 0) return null;
  return (
    <Alert color="yellow" title={T.settings.unsafe}>
      <Text>
        {data.unsafe.map((name) => (
          <Code key={name} mr="xs">
            {name}
          </Code>
        ))}
        <Link to="/settings">{texts.seeSettings}</Link>
      </Text>
    </Alert>
  );
}

/** The state of the server, as `countersign doctor` reads it too. */
function Health() {
  const chain = useQuery({ ...trpc.operator.audit.chain.queryOptions(), refetchInterval: 10_000 });
  const clients = useQuery(trpc.operator.clients.list.queryOptions({ limit: 10 }));
  const users = useQuery(trpc.operator.users.list.queryOptions({ limit: 10 }));
  const keys = useQuery(trpc.operator.signingKeys.list.queryOptions());
  const calls = [chain, clients, users, keys];
  const error = calls.find((call) => call.error)?.error;
  const newest = Math.max(0, ...(keys.data?.signingKeys ?? []).map(({ publishedAt }) => publishedAt));
  const figures: readonly (readonly [name: string, value: string, screen: string])[] = [
    [texts.figures.clients, countOf(clients.data), "/clients"],
    [texts.figures.users, countOf(users.data), "/users"],
    [texts.figures.sealed, chain.data === undefined ? "…" : shownNumber(chain.data.head?.seq ?? 0), "/audit"],
    [texts.figures.waiting, chain.data === undefined ? "…" : shownNumber(chain.data.waiting), "/audit"],
    [texts.figures.keyAge, newest === 0 ? "…" : shownAgo(newest), "/keys"],
  ];
  return (
    <Stack gap="xs" component="section" aria-label={texts.health}>
      <Title order={2}>{texts.health}</Title>
      {error && <FailureNote error={error} retry={() => void Promise.all(calls.map((call) => call.refetch()))} />}
      <SimpleGrid cols={{ base: 2, md: 5 }} component="dl" className="figures" spacing="sm">
        {figures.map(([name, value, screen]) => (
          <Paper key={name} withBorder p="sm">
            <Text component="dt">
              <Anchor component={Link} to={screen as never} size="sm" c="var(--mantine-color-text)">
                {name}
              </Anchor>
            </Text>
            <Text component="dd" size="lg" fw={650} m={0}>
              {value}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
    </Stack>
  );
}

const countOf = (page: { readonly total: number | null; readonly totalIsExact: boolean } | undefined): string =>
  typeof page?.total === "number" ? shownNumber(page.total) + (page.totalIsExact ? "" : "+") : "…";
