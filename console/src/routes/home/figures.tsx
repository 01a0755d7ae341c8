import { Group, SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { trpc } from "../../api/client.ts";
import { now } from "../../api/clock.ts";
import { Section } from "../../components/section.tsx";
import { shownHour, shownMoment, shownNumber, T } from "../../texts/texts.ts";
import { sumsOf } from "./sums.ts";

const { home: texts } = T;

/** Milliseconds between two looks. */
const LOOK = 10_000;
const [WIDTH, HEIGHT, GAP] = [20, 100, 5];

type Sums = ReturnType<typeof sumsOf>;

/** What the last 24 hours brought: tokens, and refusals by reason. For developers, of their own clients. */
export function Figures({ isOperator }: { readonly isOperator: boolean }) {
  const look = { refetchInterval: LOOK };
  const all = useQuery({ ...trpc.operator.figures.get.queryOptions({}), ...look, enabled: isOperator });
  const own = useQuery({ ...trpc.figures.get.queryOptions({}), ...look, enabled: !isOperator });
  const found = isOperator ? all : own;
  const sums = found.data && sumsOf(found.data.figures, now());
  const isEmpty = sums !== undefined && sums.issued + sums.refused + sums.replayed + sums.raced === 0;
  return (
    <Section title={texts.lastDay} of={found} empty={isEmpty ? texts.nothingYet : undefined}>
      {sums && (
        <>
          <SimpleGrid cols={{ base: 2, md: 4 }} component="dl" className="figures">
            {(["issued", "refused", "replayed", "raced"] as const).map((kind) => (
              <div key={kind}>
                <Text component="dt">
                  {(kind === "issued" || kind === "refused") && <span className={`key ${kind}`} aria-hidden="true" />}
                  {texts.kinds[kind]}
                </Text>
                <Text component="dd" size="lg" fw={650} m={0}>
                  {shownNumber(sums[kind])}
                </Text>
              </div>
            ))}
          </SimpleGrid>
          <Group align="flex-start" gap="xl" wrap="wrap">
            <Hours hours={sums.hours} />
            {sums.reasons.length > 0 && <Reasons reasons={sums.reasons} isOperator={isOperator} />}
          </Group>
        </>
      )}
    </Section>
  );
}

/** Tokens and refusals by hour, as bars, and as a table for screen readers. */
function Hours({ hours }: Pick<Sums, "hours">) {
  const most = Math.max(1, ...hours.map(({ issued, refused }) => issued + refused));
  const tall = (count: number) => (count / most) * HEIGHT;
  return (
    <div className="hours-box">
      <svg className="hours" preserveAspectRatio="none" viewBox={`0 0 ${hours.length * WIDTH} ${HEIGHT}`} aria-hidden="true">
        {hours.map(({ at, issued, refused }, index) => {
          const place = { x: index * WIDTH, width: WIDTH - GAP };
          return (
            <g key={at}>
              <rect {...place} className="issued" y={HEIGHT - tall(issued)} height={tall(issued)} />
              <rect {...place} className="refused" y={HEIGHT - tall(issued + refused)} height={tall(refused)} />
            </g>
          );
        })}
      </svg>
      <Group justify="space-between" aria-hidden="true">
        {hours
          .filter((_, index) => index % 6 === 0 || index === hours.length - 1)
          .map(({ at }) => (
            <Text key={at} size="xs" c="dimmed">
              {shownHour(at)}
            </Text>
          ))}
      </Group>
      <div className="visually-hidden">
        <table>
          <caption>{texts.byHour}</caption>
          <thead>
            <tr>
              <th scope="col">{texts.hour}</th>
              <th scope="col">{texts.kinds.issued}</th>
              <th scope="col">{texts.kinds.refused}</th>
            </tr>
          </thead>
          <tbody>
            {hours.map(({ at, issued, refused }) => (
              <tr key={at}>
                <th scope="row">{shownMoment(at)}</th>
                <td>{issued}</td>
                <td>{refused}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** The most frequent reasons; an operator's lead to their records. */
const Reasons = ({ reasons, isOperator }: Pick<Sums, "reasons"> & { readonly isOperator: boolean }) => (
  <Stack gap={4}>
    <Title order={3} size="h4">
      {texts.reasons}
    </Title>
    <Table aria-label={texts.reasons} withRowBorders={false} verticalSpacing={2}>
      <Table.Tbody>
        {reasons.map(([reason, count]) => (
          <Table.Tr key={reason}>
            <Table.Td className="foreign">
              {isOperator ? (
                <Link to="/audit" search={{ reason }}>
                  {reason}
                </Link>
              ) : (
                reason
              )}
            </Table.Td>
            <Table.Td ta="end">{shownNumber(count)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Stack>
);
