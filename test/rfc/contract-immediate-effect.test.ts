import { createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServerDriver, TestClient } from "../support/flow.ts";
import { PROVISIONED } from "../support/server.ts";
import { startTwoFronts } from "../support/two-fronts.ts";

let fronts: Awaited<ReturnType<typeof startTwoFronts>>;
beforeAll(async () => {
  fronts = await startTwoFronts(PROVISIONED);
});
afterAll(() => fronts.close());

const asks = { grant_type: "client_credentials", scope: "notes:read" };

/** A developer at the first front, with a client that the second front has issued a token to. */
async function scene() {
  const { here, there } = fronts;
  const { login } = await here.signedInUser({ verified: false });
  const admin = createAdminClient({ url: here.url, token: login.access_token });
  const made = await admin.clients.create.mutate({ name: "Mine", scopes: ["notes:read"], grantTypes: ["client_credentials"] });
  const client: TestClient = { clientId: made.clientId, secret: made.clientSecret ?? "", redirectUri: "" };
  const issued = await there.token(client, asks);
  expect(issued.status).toBe(200);
  const both = <Answer>(ask: (front: ServerDriver) => Promise<Answer>) => Promise.all([ask(here), ask(there)]);
  return { admin, made, client, both, accessToken: issued.body.access_token as string };
}

test("abuse 34: both fronts refuse the old secret from the first request after it is replaced", async () => {
  const { admin, made, client, both } = await scene();
  const { clientSecret: secret } = await admin.clients.regenerateSecret.mutate({ id: made.id });
  expect((await both((front) => front.token(client, asks))).map(({ status }) => status)).toEqual([401, 401]);
  expect((await both((front) => front.token({ ...client, secret }, asks))).map(({ status }) => status)).toEqual([200, 200]);
});

test("both fronts refuse a disabled or deleted client at the token endpoint and at introspection", async () => {
  const { admin, made, client, both, accessToken } = await scene();
  const reader: TestClient = { ...client };
  const states = () =>
    both(async (front) => [(await front.token(client, asks)).status, (await front.introspect(reader, accessToken)).status]);
  await admin.clients.update.mutate({ id: made.id, patch: { enabled: false } });
  expect(await states()).toEqual([
    [401, 401],
    [401, 401],
  ]);
  await admin.clients.update.mutate({ id: made.id, patch: { enabled: true } });
  expect((await both((front) => front.introspect(reader, accessToken))).map(({ body }) => body.active)).toEqual([true, true]);
  await admin.clients.delete.mutate({ id: made.id });
  expect(await states()).toEqual([
    [401, 401],
    [401, 401],
  ]);
});

test("both fronts refuse a revoked API key and the API key of a disabled client", async () => {
  const { admin, made, both } = await scene();
  const [first, second] = await Promise.all(["a", "b"].map((name) => admin.apiKeys.create.mutate({ clientId: made.id, key: { name } })));
  const read = (key: string) =>
    both(async (front) => (await front.get(`/api/clients/${made.id}`, { authorization: `Bearer ${key}` })).status);
  expect([await read(first?.key ?? ""), await read(second?.key ?? "")]).toEqual([
    [200, 200],
    [200, 200],
  ]);
  await admin.apiKeys.revoke.mutate({ clientId: made.id, keyId: first?.id ?? "" });
  expect([await read(first?.key ?? ""), await read(second?.key ?? "")]).toEqual([
    [401, 401],
    [200, 200],
  ]);
  await admin.clients.update.mutate({ id: made.id, patch: { enabled: false } });
  expect(await read(second?.key ?? "")).toEqual([401, 401]);
});

test("a secret that is replaced during 32 concurrent token requests is refused by both fronts after the response", async () => {
  const { admin, made, client, both } = await scene();
  const { there } = fronts;
  const uses = Array.from({ length: 32 }, () => there.token(client, asks));
  await admin.clients.regenerateSecret.mutate({ id: made.id });
  const after = await Promise.all(Array.from({ length: 16 }, () => both((front) => front.token(client, asks))));
  expect(new Set(after.flat().map(({ status }) => status))).toEqual(new Set([401]));
  for (const { status } of await Promise.all(uses)) expect([200, 401]).toContain(status);
});
