import { Alert, Badge, Button, Code, List, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, type ManagementOutputs, refresh, trpc } from "../../api/client.ts";
import { now } from "../../api/clock.ts";
import { useConfirm } from "../../components/confirm.tsx";
import { FailureNote, PendingScreen } from "../../components/failure.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { Section } from "../../components/section.tsx";
import { shownAgo, shownMoment, T } from "../../texts/texts.ts";

const { keys: texts } = T;

type SigningKey = ManagementOutputs["operator"]["signingKeys"]["list"]["signingKeys"][number];

/** Age in milliseconds at which a key should have been replaced, as `countersign doctor` counts. */
const OLD = 365 * 86_400_000;
const COLOURS = { signing: "teal", published: "blue", withdrawn: "gray" } as const;

/** Signing keys and how to replace one. Private keys are in the configuration of the cores alone. */
export function KeysPage() {
  const list = useQuery(trpc.operator.signingKeys.list.queryOptions());
  if (list.data === undefined) return <PendingScreen title={texts.title} of={[list]} height={320} />;
  const { signingKeys } = list.data;
  const isOld = signingKeys.some(({ state, publishedAt }) => state === "signing" && now() - publishedAt > OLD);
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.lead} />
      {isOld && <Alert color="yellow">{texts.old}</Alert>}
      <KeyTable keys={signingKeys} />
      <Steps />
    </Stack>
  );
}

const HEADERS = [
  { text: texts.kid },
  { text: texts.state },
  { text: texts.published, low: true },
  { text: texts.lastSigned, low: true },
  { text: texts.acts },
];

function KeyTable({ keys }: { readonly keys: readonly SigningKey[] }) {
  const confirm = useConfirm();
  const withdrawal = useMutation({
    mutationFn: (kid: string) => api.operator.signingKeys.withdraw.mutate({ kid }),
    onSuccess: () => refresh({ queryKey: trpc.operator.signingKeys.pathKey() }),
  });
  const withdraw = async (kid: string) => {
    const typed = { label: texts.typeKid, text: kid };
    if (await confirm({ title: texts.withdraw, of: kid, consequences: texts.consequences, act: texts.withdraw, typed }))
      withdrawal.mutate(kid);
  };
  return (
    <>
      {withdrawal.error && <FailureNote error={withdrawal.error} />}
      <PlainTable caption={texts.title} headers={HEADERS}>
        {keys.map((key) => (
          <KeyRow
            key={key.kid}
            {...key}
            withdraw={() => void withdraw(key.kid)}
            isBusy={withdrawal.isPending && withdrawal.variables === key.kid}
          />
        ))}
      </PlainTable>
    </>
  );
}

interface KeyRowProps extends SigningKey {
  readonly withdraw: () => void;
  readonly isBusy: boolean;
}

const KeyRow = ({ kid, jwk, state, publishedAt, inUseAt, withdraw, isBusy }: KeyRowProps) => (
  <Table.Tr>
    <Table.Td className="foreign">
      <Code>{kid}</Code>
      <Text size="xs" c="dimmed">
        {String(jwk.alg ?? jwk.crv ?? jwk.kty)}
      </Text>
    </Table.Td>
    <Table.Td className="tight">
      <Badge color={COLOURS[state]}>{texts.states[state]}</Badge>
    </Table.Td>
    <Table.Td className="low" title={shownMoment(publishedAt)}>
      {shownAgo(publishedAt)}
    </Table.Td>
    <Table.Td className="low">{inUseAt === null ? T.common.never : shownAgo(inUseAt)}</Table.Td>
    <Table.Td>
      {state === "published" && (
        <Button size="compact-sm" variant="outline" color="red" loading={isBusy} onClick={withdraw} aria-label={texts.withdrawOne(kid)}>
          {texts.withdraw}
        </Button>
      )}
    </Table.Td>
  </Table.Tr>
);

const Steps = () => (
  <Section title={texts.rotation}>
    <List type="ordered" size="sm" maw="50rem">
      {texts.steps.map(({ text, code }) => (
        <List.Item key={text} mb="sm">
          {text}
          {code !== undefined && <Code block>{code}</Code>}
        </List.Item>
      ))}
    </List>
  </Section>
);
