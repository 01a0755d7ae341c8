import { expect, test } from "vitest";
import { flattened, type Group, stateOf, treeOf, widthOf } from "../../../console/src/routes/agents/tree.ts";

const named = (clientId: string) => ({ clientId, name: clientId.toUpperCase() });
const aGroup = (chain: readonly string[], members: Partial<Group> = {}): Group => ({
  ...{ userId: "u1", email: "ada@example.test", users: 1, application: named("app"), chain: chain.map(named) },
  ...{ live: 0, paused: 0, ended: 0, ...members },
});

test("groups become a tree of user, application and agents, which counts what is below each node", () => {
  const root = treeOf([aGroup(["a"], { live: 2 }), aGroup(["a", "b"], { live: 3, ended: 1 }), aGroup(["c"], { paused: 1 })]);
  expect(flattened(root).map(({ node, depth }) => [depth, node.kind, node.name, node.own.live, node.below])).toEqual([
    [0, "user", "ada@example.test", 0, { live: 5, paused: 1, ended: 1 }],
    [1, "application", "APP", 0, { live: 5, paused: 1, ended: 1 }],
    [2, "agent", "A", 2, { live: 5, paused: 0, ended: 1 }],
    [3, "agent", "B", 3, { live: 3, paused: 0, ended: 1 }],
    [2, "agent", "C", 0, { live: 0, paused: 1, ended: 0 }],
  ]);
});

test("an agent without delegations of its own is a node too, and its branch names it for the server", () => {
  const nodes = flattened(treeOf([aGroup(["a", "b"], { live: 1 })])).map(({ node }) => node.branch);
  expect(nodes.slice(2)).toEqual([
    { application: "app", chain: ["a"], userId: "u1" },
    { application: "app", chain: ["a", "b"], userId: "u1" },
  ]);
});

test("users that are counted are one node, and their branch is that of all users", () => {
  const root = treeOf([aGroup(["a"], { userId: null, email: null, users: 5_000, live: 5_000 })]);
  const [users, , agent] = flattened(root).map(({ node }) => node);
  expect([users?.name, users?.users, agent?.branch]).toEqual([undefined, 5_000, { application: "app", chain: ["a"] }]);
});

test("the same agent in two branches is two nodes", () => {
  const keys = flattened(treeOf([aGroup(["a", "b"]), aGroup(["b"])])).map(({ node }) => node.key);
  expect(new Set(keys).size).toBe(5);
});

test("what is live is drawn by its number, paused and ended as such", () => {
  const nodeOf = (counts: Partial<Group>) => flattened(treeOf([aGroup(["a"], counts)])).at(-1)!.node;
  expect([{ live: 1, paused: 1 }, { paused: 1, ended: 1 }, { ended: 1 }].map((counts) => stateOf(nodeOf(counts)))).toEqual([
    "live",
    "paused",
    "ended",
  ]);
  const widths = [0, 1, 10, 100_000].map((live) => widthOf(nodeOf({ live })));
  expect(widths).toEqual(widths.toSorted((one, other) => one - other));
  expect([widths[0], widths[3]]).toEqual([1, 13]);
});
