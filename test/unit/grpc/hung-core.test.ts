import { afterAll, test as base } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { remoteTokenCore } from "../../../src/grpc/core-client.ts";
import { startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore, type TokenCoreImplementation } from "../../../src/grpc/local.ts";
import { aBalancer } from "../../support/balancer.ts";
import { clientCredentials, smallCore } from "./small-core.ts";

const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** These tests mostly wait, each for servers of its own: they wait together. */
const test = base.concurrent;

async function aCore() {
  const { implementation: small, seen } = smallCore();
  // Like the token core: it reads first, and then writes only if its caller still waits.
  const implementation: TokenCoreImplementation = {
    ...small,
    async token(request, context) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (context.signal?.aborted) throw new Refusal("temporarily_unavailable", "caller_gone");
      return small.token(request, context);
    },
  };
  const onFault = (fault: unknown) => {
    throw fault;
  };
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core: localTokenCore(implementation), fronts: {}, onFault });
  cleanups.push(() => listener.close(0));
  return { port: listener.port, seen };
}

async function aFront() {
  const [one, two] = [await aCore(), await aCore()];
  const balancer = await aBalancer([one.port, two.port]);
  cleanups.push(() => balancer.close());
  const lines: unknown[] = [];
  const note = (event: string, fields?: object) => void lines.push([event, fields]);
  const core = remoteTokenCore({ url: `http://127.0.0.1:${balancer.port}` }, undefined, undefined, { info: note, warn: note });
  cleanups.push(() => core.close());
  for (let i = 0; i < 3; i += 1) await core.publicKeys({});
  await core.token(clientCredentials("warm"));
  const [hung, other] = one.seen.length > 0 ? [one, two] : [two, one];
  return { core, balancer, hung, other, lines };
}

test("calls move from a hung core to another one", async ({ expect }) => {
  const { core, balancer, hung, other } = await aFront();
  balancer.stop(hung.port);
  await expect.poll(() => core.token(clientCredentials("first"), { timeoutMs: 1_500 })).toBeDefined();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => core.token(clientCredentials(`after-${i}`), { timeoutMs: 2_000 })),
  );
  expect(answers).toHaveLength(20);
  expect(other.seen.filter((name) => name.startsWith("after-"))).toHaveLength(20);
  expect(await core.ready()).toBe(true);
});

test("that no core answers any more is logged once, and once that one does again", async ({ expect }) => {
  const { core, balancer, hung, other, lines } = await aFront();
  for (const { port } of [hung, other]) balancer.stop(port);
  for (let calls = 0; calls < 9; calls += 1) await expect(core.publicKeys({}, { timeoutMs: 500 })).rejects.toBeInstanceOf(Refusal);
  const away = ["core_away", { reason: "core_unavailable", code: "no_answer" }];
  expect(lines).toEqual([away]);
  for (const { port } of [hung, other]) balancer.go(port);
  await expect.poll(() => core.ready(), { timeout: 10_000 }).toBe(true);
  expect(lines).toEqual([away, ["core_back", undefined]]);
});

test("calls without effects are repeated at another core; calls with effects end at their deadline and are not repeated", async ({
  expect,
}) => {
  const { core, balancer, hung, other } = await aFront();
  balancer.stop(hung.port);
  const token = core.token(clientCredentials("once")).then(
    () => "answered",
    (thrown: Refusal) => thrown.reason,
  );
  const began = performance.now();
  expect(await core.resolveClient({ clientId: "shown" })).toMatchObject({ client: { clientId: "shown" } });
  expect(await token).toBe("core_timeout");
  expect(performance.now() - began).toBeGreaterThan(2_900);
  expect(other.seen).not.toContain("once");
});

test("a core that reads a call after its front gave up does not execute it", async ({ expect }) => {
  const { core, balancer, hung, other } = await aFront();
  balancer.stop(hung.port);
  const refused = await core.token(clientCredentials("given-up"), { timeoutMs: 300 }).catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(Refusal);
  await new Promise((resolve) => setTimeout(resolve, 100)); // both messages wait in front of the core
  balancer.go(hung.port);
  balancer.stop(other.port); // where the front is, if it has found the other one hung
  await expect.poll(() => core.token(clientCredentials("next"), { timeoutMs: 1_500 })).toBeDefined();
  expect(hung.seen).toContain("next");
  expect(hung.seen).not.toContain("given-up");
});

test("a core that responds again is used again", async ({ expect }) => {
  const { core, balancer, hung, other } = await aFront();
  balancer.stop(hung.port);
  await expect.poll(() => core.token(clientCredentials("elsewhere"), { timeoutMs: 1_500 })).toBeDefined();
  balancer.stop(other.port);
  balancer.go(hung.port);
  await expect.poll(() => core.token(clientCredentials("back"), { timeoutMs: 1_500 }).catch(() => undefined)).toBeDefined();
  expect(hung.seen).toContain("back");
});
