import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { NewDeviceRequest } from "../../src/core/stored-grants.ts";

import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { deviceRequests } from "../../src/store/device-requests.ts";
import type { Database } from "../../src/store/orm.ts";
import { aHash, anAudit, anId } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aBinding, aScene } from "../support/grants.ts";

const aRequest = (members: Partial<NewDeviceRequest> = {}): NewDeviceRequest => ({
  id: anId(),
  deviceCodeHash: aHash(),
  userCodeHash: aHash(),
  clientId: "c",
  scopes: ["crm:read"],
  resources: ["https://crm.example.test/mcp"],
  address: "192.0.2.1",
  dpopJkt: null,
  pollInterval: 5,
  ...members,
});

describe.for(databaseKinds)("device requests on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const store = () => deviceRequests(database.sql);

  test("are found by each of their keys until they are decided upon", async () => {
    const request = aRequest({ dpopJkt: "thumbprint" });
    expect(await store().open(request, 600)).toBe(true);
    const found = await store().byId(request.id);
    expect(found).toMatchObject({
      dpopJkt: "thumbprint",
      clientId: "c",
      scopes: request.scopes,
      resources: request.resources,
      address: "192.0.2.1",
      deniedAt: null,
    });
    expect((found?.expiresAt ?? 0) - (found?.now ?? 0)).toBeGreaterThan(590);
    expect((await store().byDeviceCode(request.deviceCodeHash))?.id).toBe(request.id);
    expect(await store().pendingByUserCode(request.userCodeHash)).toBe(request.id);
    expect([await store().deny(request.id), await store().deny(request.id)]).toEqual([true, true]);
    expect(await store().pendingByUserCode(request.userCodeHash)).toBeUndefined();
    expect((await store().byId(request.id))?.deniedAt).toEqual(expect.any(Number));
    for (const id of ["no-uuid", anId()]) expect(await store().byId(id)).toBeUndefined();
  });

  test("have user codes of their own: of 32 parallel requests with one code, one is stored", async () => {
    const userCodeHash = aHash();
    const opened = await Promise.all(Array.from({ length: 32 }, () => store().open(aRequest({ userCodeHash }), 600)));
    expect(opened.filter(Boolean)).toEqual([true]);
  });

  test("slow down devices that poll too fast: of 16 parallel polls one is in time", async () => {
    const request = aRequest();
    await store().open(request, 600);
    const polls = await Promise.all(Array.from({ length: 16 }, () => store().poll(request.deviceCodeHash, 5)));
    expect(polls.filter((tooSoon) => !tooSoon)).toEqual([false]);
    await runText(database.sql, "update device_requests set poll_interval = 5, polled_at = now() - interval '4.5 seconds'");
    expect(await store().poll(request.deviceCodeHash, 5)).toBe(false);
    await runText(database.sql, "update device_requests set polled_at = now() - interval '3.5 seconds'");
    expect([await store().poll(request.deviceCodeHash, 5), await store().poll(aHash(), 5)]).toEqual([true, false]);
    await runText(database.sql, "update device_requests set polled_at = now() - interval '8 seconds'");
    expect(await store().poll(request.deviceCodeHash, 5)).toBe(true);
  });

  test("stay approved: an approved request is neither found by its user code nor denied", async () => {
    const scene = await aScene(database.sql);
    const request = aRequest({ clientId: scene.clientId });
    await store().open(request, 600);
    const binding = aBinding(scene, { redirectUri: "", codeChallenge: "" });
    expect(await authorizationCodes(database.sql).issue(request.deviceCodeHash, binding, 600, anAudit("device.approved"))).toBe(true);
    expect(await store().deny(request.id)).toBe(false);
    expect(await store().pendingByUserCode(request.userCodeHash)).toBeUndefined();
    expect((await store().byId(request.id))?.deniedAt).toBeNull();
  });

  test("are not found by their user code after their expiry", async () => {
    const request = aRequest();
    await store().open(request, 600);
    await runText(database.sql, "update device_requests set expires_at = now()");
    expect(await store().pendingByUserCode(request.userCodeHash)).toBeUndefined();
    expect(await store().byDeviceCode(request.deviceCodeHash)).toBeDefined();
  });
});
