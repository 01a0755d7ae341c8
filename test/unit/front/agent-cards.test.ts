import { expect, test } from "vitest";
import type { AgentPause, Delegation } from "../../../src/accounts/delegations.ts";
import { agentCards, mayHandOnTo } from "../../../src/front/pages/agents/page.ts";
import { TOKEN_EXCHANGE } from "../../../src/protocol/grants.ts";
import { aClient } from "../../support/builders.ts";

const named = (clientId: string) => ({ clientId, name: clientId });
const aDelegation = (
  id: string,
  agent: string,
  issuedAt: number,
  reason?: "agent_paused" | "expired" | "cut" | "ended_above" | "paused_above",
): Delegation => ({
  id,
  kind: "access_token",
  jti: id,
  parentId: null,
  grantId: "g",
  userId: "u",
  email: "ada@example.test",
  application: named("web"),
  agent: named(agent),
  chain: [agent],
  scopes: [],
  audience: [],
  issuedAt,
  expiresAt: issuedAt + 900,
  ended: reason === undefined ? null : { reason, at: null, by: null },
});
const aPause = (agent: string, userId: string | null): AgentPause => ({
  id: `p-${agent}`,
  agent: named(agent),
  userId,
  pausedAt: 5,
  reason: null,
  by: { type: "user", id: "x" },
});

test("agents with live delegations come first, then those that acted last; each delegation is counted once", () => {
  const held = aDelegation("1", "b", 10);
  const cards = agentCards([held, held, aDelegation("2", "a", 30, "expired"), aDelegation("3", "c", 20, "cut")], []);
  expect(cards.map(({ agent, held: { length }, lastActed }) => [agent.clientId, length, lastActed])).toEqual([
    ["b", 1, 10],
    ["a", 0, 30],
    ["c", 0, 20],
  ]);
});

test("delegations of paused agents count as held; those cut, expired or ended above do not", () => {
  const all = (["agent_paused", "cut", "expired", "ended_above", "paused_above"] as const).map((reason, n) =>
    aDelegation(`${n}`, "a", n, reason),
  );
  expect(
    agentCards(all, [])[0]
      ?.held.map(({ id }) => id)
      .sort(),
  ).toEqual(["0", "4"]);
});

test("a paused agent without delegations has a card, which shows who paused it", () => {
  const [a, b] = agentCards([], [aPause("a", "u"), aPause("b", null)]);
  expect([a?.pausedByUser?.userId, a?.pausedByOperator, a?.lastActed]).toEqual(["u", undefined, null]);
  expect([b?.pausedByUser, b?.pausedByOperator?.userId]).toEqual([undefined, null]);
});

test("without agents there are no cards", () => {
  expect(agentCards([], [])).toEqual([]);
});

test.for([
  ["access_token", ["a"], ["b"]],
  ["access_token", ["x", "y", "a"], ["b"]],
  ["access_token", ["x", "y", "z", "a"], []],
  ["id_jag", ["a"], []],
] as const)("a delegation of the kind %s with the chain %j may be passed on to %j", ([kind, chain, others]) => {
  const targets = new Map(
    ["a", "b", "c"].map((clientId) => [clientId, aClient({ isAgent: true, grantTypes: [TOKEN_EXCHANGE], enabled: clientId !== "c" })]),
  );
  const audience = ["https://crm.example", "a", "b", "c", "gone"];
  expect(mayHandOnTo({ kind, chain, audience, agent: named("a") }, targets)).toEqual(others);
});
