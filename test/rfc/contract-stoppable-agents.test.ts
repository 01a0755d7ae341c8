import { setTimeout } from "node:timers/promises";
import { createGuard } from "@countersign/guard";
import { localWithRevocations } from "@countersign/guard/grpc";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { CRM, DELEGATION_CLIENTS, delegating } from "../support/delegation.ts";
import { claimsOf } from "../support/flow.ts";
import { refusalOf } from "../support/guard-refusal.ts";
import { PROVISIONED } from "../support/server.ts";
import { startTwoFronts } from "../support/two-fronts.ts";

let fronts: Awaited<ReturnType<typeof startTwoFronts>>;
beforeAll(async () => {
  fronts = await startTwoFronts({ ...PROVISIONED, clients: DELEGATION_CLIENTS });
});
afterAll(() => fronts.close());

const web = { clientId: "web", secret: "web-secret", redirectUri: "https://app.example.test/cb" };
/** The delegation helpers for one of the fronts. */
const at = (which: "here" | "there") =>
  delegating({ ...fronts[which], clients: { web }, database: fronts.database, grpc: fronts.grpc[which] });

async function scene() {
  const [here, there] = [at("here"), at("there")];
  const line = await here.chainOf(["agent-1", "agent-2"]);
  const operator = await operatorAt(fronts.here.url);
  const [root = "", first = "", deep = ""] = line.accessTokens;
  /** For each front: whether the deep token is active, and the result of one more exchange. */
  const frontVerdicts = () =>
    Promise.all(
      [here, there].map(async (front) => [await front.active(deep), (await front.exchange("agent-2", first)).body.error ?? "exchanged"]),
    );
  return { here, there, user: line.user, operator, root, first, deep, frontVerdicts };
}
const both = <Value>(value: Value) => [value, value];

/** Guards that read revocation events, one from each core. */
function guards() {
  const made = Object.values(fronts.grpc).map((grpc) =>
    createGuard({
      resource: CRM,
      authorizationServers: [fronts.here.url],
      verification: localWithRevocations({
        address: `http://${grpc}`,
        clientId: "crm-rs",
        clientSecret: "crm-rs-secret",
        whenStale: "refuse",
      }),
    }),
  );
  onTestFinished(() => made.forEach((guard) => void guard.close()));
  const verdicts = (token: string) =>
    Promise.all(
      made.map((guard) =>
        refusalOf(() => guard.verifyToken(token)).then(
          ([, reason]) => reason,
          () => "good",
        ),
      ),
    );
  /** Waits until both guards return `expected`; the timeout of the test ends the wait. */
  const become = async (token: string, expected: string) => {
    while ((await verdicts(token)).some((verdict) => verdict !== expected)) await setTimeout(20);
  };
  return { verdicts, become };
}

test("a pause or resume at one front takes effect at the other with the next request, and reaches guards from either core", async () => {
  const { operator, deep, frontVerdicts } = await scene();
  const { verdicts, become } = guards();
  expect(await verdicts(deep)).toEqual(["good", "good"]);
  expect(await frontVerdicts()).toEqual(both([true, "exchanged"]));
  await operator.agents.pause.mutate({ clientId: "agent-2" });
  expect(await frontVerdicts()).toEqual(both([false, "unauthorized_client"]));
  await become(deep, "token_revoked");
  await operator.agents.resume.mutate({ clientId: "agent-2" });
  expect(await frontVerdicts()).toEqual(both([true, "exchanged"]));
  await become(deep, "good");
});

test("a cut at one front revokes the deep token and refuses further exchanges at the other at once", async () => {
  const { operator, deep, first, frontVerdicts } = await scene();
  const { verdicts, become } = guards();
  expect(await verdicts(deep)).toEqual(["good", "good"]);
  const { delegations } = await operator.delegations.list.query({ userId: claimsOf(first).sub, agent: "agent-1" });
  await operator.delegations.cut.mutate({ kind: "delegation", id: delegations[0]?.id ?? "" });
  expect(await frontVerdicts()).toEqual(both([false, "invalid_request"]));
  await become(deep, "token_revoked");
});

test("tokens of exchanges concurrent with a pause are inactive while the agent is paused, and valid again after it resumes", async () => {
  const { operator, there, first, frontVerdicts } = await scene();
  const { verdicts, become } = guards();
  const exchanges = Array.from({ length: 24 }, () => there.exchange("agent-2", first));
  await operator.agents.pause.mutate({ clientId: "agent-2" });
  const exchanged = (await Promise.all(exchanges)).flatMap(({ body }) =>
    body.access_token === undefined ? [] : [body.access_token as string],
  );
  expect(await Promise.all(exchanged.map(there.active))).toEqual(exchanged.map(() => false));
  for (const token of exchanged) await become(token, "token_revoked");
  expect(await frontVerdicts()).toEqual(both([false, "unauthorized_client"]));
  await operator.agents.resume.mutate({ clientId: "agent-2" });
  for (const token of exchanged) await become(token, "good");
  expect(await verdicts(first)).toEqual(["good", "good"]);
});
