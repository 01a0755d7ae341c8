import { Alert, Group, Stack, Table, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type CSSProperties, useState } from "react";
import { api, type ManagementInputs, trpc } from "../../api/client.ts";
import { ActButton, act } from "../../components/act.tsx";
import { Pending } from "../../components/failure.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { T } from "../../texts/texts.ts";
import { countsOf, nameOf, Picture } from "./picture.tsx";
import { flattened, stateOf, type TreeNode, treeOf } from "./tree.ts";

const { agents: texts } = T;
/** Milliseconds. */
const REFRESHED = 10_000;

const HEADERS = [{ text: texts.actor }, { text: texts.state }, { text: texts.tokens, low: true }, { text: texts.acts, low: true }];
/** What console.css calls narrow. */
const NARROW = "(max-width: 48em)";

/** Who acts for whom: a picture, the same as a table, and what can be stopped. */
export function Delegations({ of }: { readonly of: ManagementInputs["operator"]["delegations"]["groups"] }) {
  const [chosen, setChosen] = useState<string>();
  const groups = useQuery({ ...trpc.operator.delegations.groups.queryOptions(of), refetchInterval: REFRESHED });
  if (groups.data === undefined) return <Pending of={[groups]} height={120} />;
  const { data } = groups;
  if (data.groups.length === 0) return <Text c="dimmed">{texts.noDelegations}</Text>;
  const root = treeOf(data.groups);
  const isGrouped = data.groups.some(({ userId }) => userId === null);
  return (
    <Stack gap="sm">
      {isGrouped && <Text size="sm">{texts.grouped}</Text>}
      {!data.complete && <Alert color="yellow">{texts.incomplete}</Alert>}
      <Picture root={root} chosen={chosen} onChoose={({ key }) => setChosen(key)} />
      <PlainTable caption={texts.tree} headers={HEADERS}>
        {flattened(root).map(({ node, depth }) => (
          <Row key={node.key} node={node} depth={depth} isChosen={node.key === chosen} />
        ))}
      </PlainTable>
    </Stack>
  );
}

function Row({ node, depth, isChosen }: { readonly node: TreeNode; readonly depth: number; readonly isChosen: boolean }) {
  const isNarrow = useMediaQuery(NARROW, undefined, { getInitialValueInEffect: false });
  const { branch } = node;
  const chosen = isChosen && { bg: "var(--mantine-color-blue-light)" };
  const acts = branch !== undefined && <NodeActs node={node} branch={branch} />;
  const hasActsBelow = isNarrow && branch !== undefined;
  const indent = { "--depth": depth } as CSSProperties;
  return (
    <>
      <Table.Tr {...chosen} className={hasActsBelow ? "tree-row" : ""}>
        <Table.Td style={indent} className="foreign tree-name">
          {nameOf(node)}
          <Text size="xs" c="dimmed" span>
            {` ${texts.kinds[node.kind]}`}
          </Text>
        </Table.Td>
        <Table.Td>{texts.states[stateOf(node)]}</Table.Td>
        <Table.Td className="low">{countsOf(node)}</Table.Td>
        {!isNarrow && <Table.Td>{acts}</Table.Td>}
      </Table.Tr>
      {hasActsBelow && (
        <Table.Tr {...chosen}>
          <Table.Td colSpan={2} style={indent} className="tree-acts">
            {acts}
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
}

function NodeActs({ node, branch }: { readonly node: TreeNode; readonly branch: NonNullable<TreeNode["branch"]> }) {
  const name = nameOf(node);
  const { own, below, clientId = "" } = node;
  const handed = below.live - own.live;
  const cutting = [
    texts.cutEnds(own.live + own.paused, name, node.users),
    ...(handed > 0 ? [texts.cutBelow(handed)] : []),
    texts.cutForGood,
  ];
  const pausing = [texts.pauseMeans(name), texts.pauseBelow(below.live), texts.pauseUndone];
  const cut = () => api.operator.delegations.cut.mutate({ kind: "branch", ...branch, chain: [...branch.chain] });
  return (
    <Group gap="xs" wrap="nowrap">
      <ActButton
        size="xs"
        variant="default"
        disabled={below.live === 0}
        question={{ title: texts.pauseOf(name), consequences: pausing, act: texts.pause }}
        run={() => act(api.operator.agents.pause.mutate({ clientId }), texts.wasPaused(name))}
        aria-label={texts.pauseOf(name)}
      >
        {texts.pause}
      </ActButton>
      <ActButton
        size="xs"
        variant="outline"
        color="red"
        c="var(--mantine-color-text)"
        disabled={below.live + below.paused === 0}
        question={{ title: texts.cutOf(name), consequences: cutting, act: texts.cut }}
        run={() => act(cut(), texts.wasCut(name))}
        aria-label={texts.cutOf(name)}
      >
        {texts.cut}
      </ActButton>
    </Group>
  );
}
