import { Badge, Button, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../../api/client.ts";
import { FailureNote } from "../../components/failure.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { Section } from "../../components/section.tsx";
import { T } from "../../texts/texts.ts";
import { Document } from "./add.tsx";

const { resources: texts } = T;
const COLOURS = { ok: "teal", warning: "yellow", fault: "red" } as const;
const HEADERS = [{ text: texts.verdict }, { text: texts.found }];

/** What `countersign doctor` finds, from this server: as clients see the resource, and as its record has it. */
export function Doctor({ resource }: { readonly resource: string }) {
  const record = useQuery(trpc.operator.resources.inspect.queryOptions({ resource }));
  const report = useQuery({ ...trpc.operator.resources.examine.queryOptions({ resource }), retry: false });
  const again = () => void Promise.all([record.refetch(), report.refetch()]);
  const { added = [], removed = [] } = record.data?.difference ?? {};
  return (
    <Stack maw="60rem" align="flex-start">
      <Button variant="default" onClick={again} loading={record.isFetching || report.isFetching}>
        {texts.readAgain}
      </Button>
      {record.error && <FailureNote error={record.error} />}
      {record.data && <Document {...record.data} scopes={record.data.metadata?.scopes ?? []} />}
      {added.length > 0 && <Text className="foreign">{texts.added(added.join(" "))}</Text>}
      {removed.length > 0 && <Text className="foreign">{texts.removed(removed.join(" "))}</Text>}
      {report.error && <FailureNote error={report.error} />}
      {report.data === undefined && !report.error && <Skeleton height={160} />}
      {report.data && (
        <Section title={texts.findings}>
          <PlainTable caption={texts.findings} headers={HEADERS}>
            {report.data.findings.map(({ check, verdict, about, found, change }) => (
              <Table.Tr key={`${check} ${about} ${found}`}>
                <Table.Td className="tight">
                  <Badge color={COLOURS[verdict]}>{texts.verdicts[verdict]}</Badge>
                </Table.Td>
                <Table.Td className="foreign">
                  <span lang="en">{found}</span>
                  {change !== undefined && (
                    <Text>
                      {texts.change}: <span lang="en">{change}</span>
                    </Text>
                  )}
                  <Text size="xs" c="dimmed" className="foreign">
                    {about}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </PlainTable>
        </Section>
      )}
    </Stack>
  );
}
