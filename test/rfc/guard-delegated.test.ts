import { setTimeout } from "node:timers/promises";
import { localWithRevocations } from "@countersign/guard/grpc";
import { describe, expect, onTestFinished } from "vitest";
import { endsOf } from "../../guard-sdk/src/revocation-marks.ts";
import { signJwt } from "../../src/core/signing/jws.ts";
import { signingKey } from "../../src/core/signing/keys.ts";
import { developmentKey } from "../../src/development-keys.ts";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { delegationRepository } from "../../src/store/delegation-repository.ts";
import { statement } from "../../src/store/sql.ts";
import { anAudit } from "../support/accounts.ts";
import { CRM, type delegating, test } from "../support/delegation.ts";
import { claimsOf } from "../support/flow.ts";
import { guardFor } from "../support/guard-modes.ts";
import { refusalOf } from "../support/guard-refusal.ts";
import type { TestServer } from "../support/server.ts";

type Server = ReturnType<typeof delegating<TestServer>>;

const EVERYONE = { kind: "everyone" } as const;

/** A guard that reads revocation events, and refuses tokens while they are stale. */
function aGuard(server: Server) {
  const access = { address: `http://${server.grpc}`, clientId: "crm-rs", clientSecret: "crm-rs-secret" };
  const guard = guardFor(server, { resource: CRM, verification: localWithRevocations({ ...access, whenStale: "refuse" }) });
  onTestFinished(() => guard.close());
  return guard;
}
type Guard = ReturnType<typeof aGuard>;

/** `good`, or the reason of the refusal. */
const verdict = (guard: Guard, token: string): Promise<string> =>
  refusalOf(() => guard.verifyToken(token)).then(
    ([, reason]) => reason,
    () => "good",
  );

/** Waits until the guard returns `expected`; the timeout of the test ends the wait. */
async function becomes(guard: Guard, token: string, expected: string): Promise<void> {
  while ((await verdict(guard, token)) !== expected) await setTimeout(20);
}

const delegationOf = async (server: Server, token: string) => {
  const [row] = await server.database.sql.query<{ id: string }>(
    statement("test_delegation_of", "select id::text from delegations where jti = $1"),
    [claimsOf(token).jti],
  );
  return row?.id ?? "";
};

/** The number of successful client authentications at introspection. */
async function introspections(server: Server): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split("\n").find((each) => each.includes('surface="introspection"') && each.includes('outcome="success"'));
  return Number(line?.split(" ").at(-1) ?? 0);
}

describe("a guard that reads revocation events verifies delegated tokens locally", () => {
  test("a delegated token lists its ancestor tokens and is verified without introspection", async ({ server }) => {
    const guard = aGuard(server);
    const { user, accessTokens } = await server.chainOf(["agent-1", "agent-2", "agent-3"]);
    const [root, first, second, third] = accessTokens.map(claimsOf);
    expect(third.exchanged_from).toEqual([second, first, root].map(({ jti, client_id }) => ({ jti, client_id })));
    expect(await verdict(guard, accessTokens.at(-1)!)).toBe("good");
    const before = await introspections(server);
    expect(before).toBeGreaterThan(0); // the guard authenticated when it opened its stream of events
    expect(await guard.verifyToken(accessTokens.at(-1)!)).toMatchObject({ sub: user.id, actors: ["agent-3", "agent-2", "agent-1"] });
    for (const token of accessTokens) expect(await verdict(guard, token)).toBe("good");
    expect((await introspections(server)) - before).toBe(0);
  });

  test.for([
    [
      "the topmost delegation is cut",
      (server, { first }) => delegationOf(server, first).then((id) => cut(server, { kind: "delegation", id })),
    ],
    [
      "a delegation in the middle is cut",
      (server, { second }) => delegationOf(server, second).then((id) => cut(server, { kind: "delegation", id })),
    ],
    ["the delegations of the first agent are cut", (server) => cut(server, { kind: "agent", clientId: "agent-1" })],
    ["the root grant is cut", (server, { grantId }) => cut(server, { kind: "grant", id: grantId })],
    ["the application revokes its refresh token", (server, { refreshToken }) => server.revoke(server.clients.web, refreshToken)],
    ["the user's own token is revoked", (server, { root }) => server.revoke(server.clients.web, root)],
    ["an agent in the middle revokes its token", (server, { second }) => server.revoke(server.agent("agent-2"), second)],
    ["the user is disabled", (server, { userId }) => run(server, "update users set enabled = false where id = $1::uuid", userId)],
  ] as const satisfies readonly (readonly [string, (server: Server, line: Line) => Promise<unknown>])[])(
    "when %s, the deep token is refused, and the token of another user is not",
    async ([, end], { server }) => {
      const guard = aGuard(server);
      const [line, other] = [await aLine(server), await aLine(server, ["agent-4"])];
      for (const token of [line.deep, other.deep]) expect(await verdict(guard, token)).toBe("good");
      await end(server, line);
      await becomes(guard, line.deep, "token_revoked");
      expect(await verdict(guard, other.deep)).toBe("good");
    },
  );

  test.for([
    ["an operator pauses an agent in the middle", () => EVERYONE],
    ["the user pauses that agent for their own account", ({ userId }) => ({ kind: "user", userId }) as const],
  ] as const satisfies readonly (readonly [string, (line: Line) => Parameters<ReturnType<typeof agentPauses>["pause"]>[0]])[])(
    "when %s, the deep token is refused until it is resumed",
    async ([, whose], { server }) => {
      const guard = aGuard(server);
      const line = await aLine(server);
      const pauses = agentPauses(server.database.sql);
      expect(await verdict(guard, line.deep)).toBe("good");
      await pauses.pause(whose(line), "agent-2", anAudit("agent.paused"));
      await becomes(guard, line.deep, "token_revoked");
      await becomes(guard, line.first, "good");
      await pauses.resume(whose(line), "agent-2", anAudit("agent.resumed"));
      await becomes(guard, line.deep, "good");
    },
  );

  test("a delegated token without exchanged_from, as an earlier release issued them, is introspected each time", async ({ server }) => {
    const guard = aGuard(server);
    const { deep } = await aLine(server);
    const { exchanged_from, ...claims } = claimsOf(deep);
    const withoutAncestors = await signJwt(claims, "at+jwt", signingKey(developmentKey(server.dataDir, "ed25519")));
    expect(await verdict(guard, withoutAncestors)).toBe("good"); // and the guard opens its stream of events
    const before = await introspections(server);
    expect(await verdict(guard, withoutAncestors)).toBe("good");
    expect((await introspections(server)) - before).toBe(1);
    await cut(server, { kind: "delegation", id: await delegationOf(server, deep) });
    expect(await verdict(guard, withoutAncestors)).toBe("token_inactive");
  });

  test("a pause by one user does not affect the tokens of another", async ({ server }) => {
    const guard = aGuard(server);
    const [mine, theirs] = [await aLine(server), await aLine(server)];
    const me = { kind: "user", userId: mine.userId } as const;
    await agentPauses(server.database.sql).pause(me, "agent-1", anAudit("agent.paused"));
    await becomes(guard, mine.deep, "token_revoked");
    expect(await verdict(guard, theirs.deep)).toBe("good");
  });

  test("the deep token is refused while any client of its chain is disabled", async ({ server }) => {
    const guard = aGuard(server);
    const { deep } = await aLine(server);
    for (const clientId of ["web", "agent-1", "agent-3"]) {
      await run(server, "update clients set enabled = false where client_id = $1", clientId);
      await becomes(guard, deep, "token_revoked");
      await run(server, "update clients set enabled = true where client_id = $1", clientId);
      await becomes(guard, deep, "good");
    }
  });
});

interface Line {
  readonly userId: string;
  readonly grantId: string;
  readonly refreshToken: string;
  readonly root: string;
  readonly first: string;
  readonly second: string;
  readonly deep: string;
}

async function aLine(server: Server, agents: readonly string[] = ["agent-1", "agent-2", "agent-3"]): Promise<Line> {
  const { user, accessTokens, refreshToken } = await server.chainOf(agents);
  const [root = "", first = "", second = ""] = accessTokens;
  const [grant] = await server.database.sql.query<{ id: string }>(
    statement("test_grant_of", "select id::text from grants where user_id = $1::uuid and client_id = 'web'"),
    [user.id],
  );
  return { userId: user.id, grantId: grant?.id ?? "", refreshToken, root, first, second, deep: accessTokens.at(-1) ?? "" };
}

const cut = (server: Server, what: Parameters<ReturnType<typeof delegationRepository>["cut"]>[1]) =>
  delegationRepository(server.database.sql).cut(EVERYONE, what, anAudit("delegation.cut"));

const run = (server: Server, text: string, parameter: string) =>
  server.database.sql.query(statement(`test_${text.slice(0, 40)}`, text), [parameter]);

test("endsOf returns revocation marks for a token and its ancestors, and undefined if the ancestors are missing or malformed", async () => {
  const above = [
    { jti: "d.b", client_id: "a" },
    { jti: "g.r", client_id: "w" },
  ];
  const delegated = { jti: "d.c", client_id: "b", sub: "u", act: { sub: "b" } };
  expect((await endsOf({ ...delegated, exchanged_from: above }))?.length).toBe(4 + 4 + 5 + 1);
  for (const exchanged_from of [undefined, [], "x", [{}], [null], Array.from({ length: 11 }, () => above[0])])
    expect(await endsOf({ ...delegated, exchanged_from })).toBeUndefined();
  expect(await endsOf({ jti: "c", client_id: "b", sub: "u", act: { sub: "b" } })).toBeUndefined();
  expect(await endsOf({ client_id: "c", sub: "u" })).toBeUndefined();
  // A grant by an assertion of another server: its actor is no ancestor here.
  expect((await endsOf({ jti: "g.r", client_id: "c", sub: "u", act: { sub: "agent" } }))?.length).toBe(6);
});
