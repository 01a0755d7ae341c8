import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { pushedRequests } from "../../src/store/authorization-requests.ts";
import type { Database } from "../../src/store/orm.ts";
import { aHash, anAudit, anId } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aBinding, aScene } from "../support/grants.ts";

const QUERY = "response_type=code&state=st";

describe.for(databaseKinds)("pushed requests on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const store = () => pushedRequests(database.sql);

  test("are opened by their client alone, and kept by the first of 32 browsers", async () => {
    const hash = aHash();
    await store().put(hash, "c", QUERY, 90);
    expect(await store().opened(hash, "c")).toBeUndefined();
    expect(await store().open(hash, "d", "b", 600)).toBeUndefined();
    const opened = await Promise.all(Array.from({ length: 32 }, (_, n) => store().open(hash, "c", `b${n}`, 600)));
    expect(opened.filter((query) => query === QUERY)).toHaveLength(1);
    const keeper = opened.findIndex((query) => query !== undefined);
    expect(await store().open(hash, "c", `b${keeper}`, 600)).toBe(QUERY);
    expect(await store().opened(hash, "c")).toEqual({ query: QUERY, isUsed: false });
    expect(await store().opened(hash, "d")).toBeUndefined();
  });

  test("cannot be opened after they have expired", async () => {
    const hash = aHash();
    await store().put(hash, "c", QUERY, 90);
    await runText(database.sql, "update pushed_requests set expires_at = now() where browser is null");
    expect(await store().open(hash, "c", "b", 600)).toBeUndefined();
  });

  test("are used up by the first of 32 codes, which may be issued again", async () => {
    const scene = await aScene(database.sql);
    const pushedRequest = aHash();
    await store().put(pushedRequest, "c", QUERY, 90);
    const binding = aBinding(scene, { pushedRequest });
    const codes = authorizationCodes(database.sql);
    const hashes = Array.from({ length: 32 }, () => aHash());
    const issued = await Promise.all(hashes.map((hash) => codes.issue(hash, binding, 60, anAudit("code.issued"))));
    expect(issued.filter(Boolean)).toHaveLength(1);
    const winner = hashes[issued.indexOf(true)] ?? aHash();
    expect(await Promise.all(hashes.map(async (hash) => (await codes.byHash(hash)) !== undefined))).toEqual(issued);
    expect(await codes.issue(winner, binding, 60, anAudit("code.issued"))).toBe(true);
    expect(await codes.issue(aHash(), binding, 60, anAudit("code.issued"))).toBe(false);
    expect(await store().open(pushedRequest, "c", "b", 600)).toBeUndefined();
    await runText(database.sql, "update pushed_requests set browser = 'b' where id_hash = $1", [pushedRequest]);
    expect(await store().opened(pushedRequest, "c")).toEqual({ query: QUERY, isUsed: true });
  });

  test("are not used up by a code that is refused", async () => {
    const scene = await aScene(database.sql);
    const pushedRequest = aHash();
    await store().put(pushedRequest, "c", QUERY, 90);
    const codes = authorizationCodes(database.sql);
    expect(await codes.issue(aHash(), aBinding(scene, { pushedRequest, sessionId: anId() }), 60, anAudit("code.issued"))).toBe(false);
    expect(await codes.issue(aHash(), aBinding(scene, { pushedRequest }), 60, anAudit("code.issued"))).toBe(true);
  });
});
