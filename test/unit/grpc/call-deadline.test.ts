import { afterEach, expect, test } from "vitest";
import { remoteTokenCore } from "../../../src/grpc/core-client.ts";
import { startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore, type TokenCoreImplementation } from "../../../src/grpc/local.ts";
import { clientCredentials, smallCore } from "./small-core.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function aFront(now: () => number | undefined) {
  const moments: (number | undefined)[] = [];
  const { implementation: small } = smallCore();
  const implementation: TokenCoreImplementation = {
    ...small,
    token(request, context) {
      moments.push(context.notAfter);
      return small.token(request, context);
    },
    revoke(request, context) {
      moments.push(context.notAfter);
      return small.revoke(request, context);
    },
  };
  const onFault = () => undefined;
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core: localTokenCore(implementation), fronts: {}, onFault });
  cleanups.push(() => listener.close(0));
  const core = remoteTokenCore({ url: `http://127.0.0.1:${listener.port}` }, now);
  cleanups.push(() => core.close());
  return { core, moments };
}

test("a call that issues a token carries a deadline half a second before its front gives up, unary and by stream", async () => {
  const { core, moments } = await aFront(() => 1_000);
  await core.token(clientCredentials("alone"));
  for (let i = 0; i < 3; i += 1) await core.publicKeys({});
  await core.token(clientCredentials("by-stream"));
  await core.token(clientCredentials("in-haste"), { timeoutMs: 1_000 });
  expect(moments).toEqual([1_002.5, 1_002.5, 1_000.5]);
});

test("a revocation carries a deadline for its effect only with an assertion, which works once", async () => {
  const { core, moments } = await aFront(() => 1_000);
  await core.revoke({ token: "t" });
  await core.revoke({ token: "t", client: { assertion: { clientAssertion: "a" } } });
  expect(moments).toEqual([undefined, 1_002.5]);
});

test("while the database's clock is unknown, calls that issue tokens are not sent", async () => {
  const { core, moments } = await aFront(() => undefined);
  await expect(core.token(clientCredentials("me"))).rejects.toMatchObject({ code: "temporarily_unavailable" });
  expect(moments).toEqual([]);
  expect(await core.ready()).toBe(true);
});
