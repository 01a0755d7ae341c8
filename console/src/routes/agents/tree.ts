/** A group of delegations, as the server counts them. */
export interface Group {
  readonly userId: string | null;
  readonly email: string | null;
  readonly users: number;
  readonly application: Named;
  readonly chain: readonly Named[];
  readonly live: number;
  readonly paused: number;
  readonly ended: number;
}

interface Named {
  readonly clientId: string;
  readonly name: string | null;
}

/** A node of the picture: who acts, from the user down to the last agent. */
export interface TreeNode {
  /** Unique in the picture. */
  readonly key: string;
  readonly kind: "root" | "user" | "application" | "agent";
  /** Undefined: the root, and users that are counted. */
  readonly name: string | undefined;
  readonly users: number;
  /** client_id of an application or agent. */
  readonly clientId?: string | undefined;
  /** Names the branch that ends here, for an agent. */
  readonly branch?: { readonly application: string; readonly chain: readonly string[]; readonly userId?: string };
  /** Delegations of this node. */
  readonly own: Counts;
  /** Those of this node and of everything below it: what ends or waits with it. */
  readonly below: Counts;
  readonly children: readonly TreeNode[];
}

export interface Counts {
  readonly live: number;
  readonly paused: number;
  readonly ended: number;
}

type Draft = Omit<TreeNode, "below" | "children" | "own"> & { own: Counts; readonly children: Map<string, Draft> };

const NONE: Counts = { live: 0, paused: 0, ended: 0 };
const plus = (one: Counts, other: Counts): Counts => ({
  live: one.live + other.live,
  paused: one.paused + other.paused,
  ended: one.ended + other.ended,
});

function childOf(parent: Draft, step: string, about: Omit<Draft, "key" | "own" | "children">): Draft {
  const key = `${parent.key}\n${step}`;
  const known = parent.children.get(key);
  if (known !== undefined) return known;
  const child: Draft = { key, own: NONE, children: new Map(), ...about };
  parent.children.set(key, child);
  return child;
}

/** The tree of groups: user, application, agents. Pure. */
export function treeOf(groups: readonly Group[]): TreeNode {
  const root: Draft = { key: "", kind: "root", name: undefined, users: 0, own: NONE, children: new Map() };
  for (const { userId, email, users, application, chain, ...own } of groups) {
    const user = childOf(root, userId ?? "", { kind: "user", name: email ?? undefined, users });
    let node = childOf(user, application.clientId, {
      ...{ kind: "application", name: application.name ?? application.clientId, users, clientId: application.clientId },
    });
    for (const [index, { clientId, name }] of chain.entries()) {
      const ids = chain.slice(0, index + 1).map((agent) => agent.clientId);
      const branch = { application: application.clientId, chain: ids, ...(userId !== null && { userId }) };
      node = childOf(node, clientId, { kind: "agent", name: name ?? clientId, users, clientId, branch });
    }
    node.own = plus(node.own, own);
  }
  return finished(root);
}

function finished({ children, ...draft }: Draft): TreeNode {
  const nodes = [...children.values()].map(finished);
  return { ...draft, children: nodes, below: nodes.reduce((sum, { below }) => plus(sum, below), draft.own) };
}

/** Every node below the root, parents first, with its depth. Pure. */
export const flattened = (node: TreeNode, depth = 0): readonly { readonly node: TreeNode; readonly depth: number }[] =>
  node.children.flatMap((child) => [{ node: child, depth }, ...flattened(child, depth + 1)]);

/** Whether a node is shown as live, paused or ended. Pure. */
export const stateOf = ({ below }: TreeNode): "live" | "paused" | "ended" =>
  below.live > 0 ? "live" : below.paused > 0 ? "paused" : "ended";

/** The width of the line to a node, by its live tokens, in pixels. Pure. */
export const widthOf = ({ below }: TreeNode): number => 1 + Math.min(12, 2 * Math.log2(1 + below.live));
