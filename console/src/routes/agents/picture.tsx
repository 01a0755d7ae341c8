import { Box } from "@mantine/core";
import { type HierarchyPointNode, hierarchy, tree } from "d3-hierarchy";
import { T } from "../../texts/texts.ts";
import { stateOf, type TreeNode, widthOf } from "./tree.ts";

const { agents: texts } = T;
/** Pixels. */
const NODE = { width: 164, height: 40, gapX: 36, gapY: 14 };
/** Characters of a name; the table has all of it. */
const LONGEST = 17;

const shortened = (name: string): string => (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name);

export const nameOf = ({ kind, name, users }: TreeNode): string => name ?? (kind === "user" ? texts.userCount(users) : "");

/** The numbers of its tokens by state, without those that are 0. */
export function countsOf({ below: { live, paused, ended } }: TreeNode): string {
  const given = [texts.live(live), paused > 0 && texts.pausedOf(paused), ended > 0 && texts.ended(ended)];
  return given.filter((part) => part !== false).join(" · ");
}

const pathOf = (from: HierarchyPointNode<TreeNode>, to: HierarchyPointNode<TreeNode>): string => {
  const [startX, endX] = [from.y + NODE.width, to.y];
  const middle = (startX + endX) / 2;
  return `M${startX} ${from.x} C${middle} ${from.x} ${middle} ${to.x} ${endX} ${to.x}`;
};

interface PictureProps {
  readonly root: TreeNode;
  readonly chosen: string | undefined;
  readonly onChoose: (node: TreeNode) => void;
}

/** Who acts for whom, from left to right. It repeats the table below it, which is for keyboards and screen readers. */
export function Picture({ root, chosen, onChoose }: PictureProps) {
  const laid = tree<TreeNode>()
    .nodeSize([NODE.height + NODE.gapY, NODE.width + NODE.gapX])
    .separation(() => 1)(hierarchy(root, ({ children }) => children));
  const nodes = laid.descendants().filter(({ depth }) => depth > 0);
  const [top, bottom] = [Math.min(...nodes.map(({ x }) => x)), Math.max(...nodes.map(({ x }) => x))];
  const left = Math.min(...nodes.map(({ y }) => y));
  const right = Math.max(...nodes.map(({ y }) => y)) + NODE.width;
  const margin = NODE.height / 2 + 8;
  const [width, height] = [right - left + 16, bottom - top + 2 * margin];
  return (
    <Box className="tree-picture" role="region" aria-label={texts.picture} tabIndex={0}>
      <svg aria-hidden="true" width={width} height={height} viewBox={`${left - 8} ${top - margin} ${width} ${height}`}>
        {laid
          .links()
          .filter(({ source }) => source.depth > 0)
          .map(({ source, target }) => (
            <path
              key={target.data.key}
              className={`tree-link ${stateOf(target.data)}`}
              d={pathOf(source, target)}
              strokeWidth={widthOf(target.data)}
            />
          ))}
        {nodes.map(({ data, x, y }) => (
          <NodeBox key={data.key} node={data} x={x} y={y} isChosen={data.key === chosen} onChoose={onChoose} />
        ))}
      </svg>
    </Box>
  );
}

interface BoxProps {
  readonly node: TreeNode;
  readonly x: number;
  readonly y: number;
  readonly isChosen: boolean;
  readonly onChoose: (node: TreeNode) => void;
}

const NodeBox = ({ node, x, y, isChosen, onChoose }: BoxProps) => (
  // biome-ignore lint/a11y/noStaticElementInteractions: the picture is hidden from assistive technology, and the table has the same acts
  <g
    transform={`translate(${y} ${x - NODE.height / 2})`}
    className={`tree-node ${stateOf(node)}${isChosen ? " chosen" : ""}`}
    onClick={() => onChoose(node)}
  >
    <rect width={NODE.width} height={NODE.height} rx={8} />
    <text x={10} y={17}>
      {shortened(nameOf(node))}
    </text>
    <text x={10} y={32} className="tree-count">
      {countsOf(node)}
    </text>
  </g>
);
