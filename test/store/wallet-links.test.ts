import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { User } from "../../src/accounts/ports.ts";
import type { SecretHash } from "../../src/random.ts";
import type { Database } from "../../src/store/orm.ts";
import { hex } from "../../src/store/sql.ts";
import { linkedWallets, walletLinks } from "../../src/store/wallet-links.ts";
import type { Completion } from "../../src/wallet/ports.ts";
import { aHash, anAudit, aSessionOf, aUser, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const ISSUER = "https://issuer.example.test";
const CALLERS = 64;

describe.for(databaseKinds)("wallet links on $name", ({ fresh }) => {
  let database: Database;
  let user: User;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    user = await aUser(database.sql);
  });
  const links = () => walletLinks(database.sql);
  const wallets = () => linkedWallets(database.sql);
  const started = anAudit("wallet.link_started");
  const refused = anAudit("wallet.refused", { outcome: "failure" });
  const auditOfCompletion = (completion: Completion) => anAudit(completion.state === "linked" ? "wallet.linked" : "wallet.refused");

  async function startLink(userId = user.id, more: { sameDevice?: boolean } = {}) {
    const { id: sessionId } = await aSessionOf(database.sql, userId);
    const link = { handleHash: aHash(), stateHash: aHash(), userId, sessionId, sameDevice: false, ttl: 300, ...more };
    return { ...link, expiresAt: await links().start(link, started) };
  }
  /** A link whose wallet has presented this subject. */
  async function presented(subject: string, userId = user.id) {
    const link = await startLink(userId);
    await links().answer(link.stateHash);
    await links().present(link.stateHash, { issuer: ISSUER, subject }, undefined);
    return link;
  }
  const expireLink = (handleHash: SecretHash) =>
    runText(database.sql, "update wallet_links set expires_at = now() - interval '1 second' where handle_hash = $1::bytea", [handleHash]);
  const ofUser = (audits: { user_id: string | null }[]) => audits.filter(({ user_id }) => user_id === user.id);

  test("a link is found by its handle, and as pending by its state", async () => {
    const { handleHash, stateHash, sessionId, expiresAt } = await startLink();
    expect(Math.abs(expiresAt - Date.now() / 1_000 - 300)).toBeLessThan(30);
    expect(await links().byHandle(handleHash)).toMatchObject({
      userId: user.id,
      sessionId,
      state: "pending",
      expired: false,
      sameDevice: false,
      expiresAt,
    });
    expect(await links().unanswered(stateHash)).toBe(expiresAt);
    expect([await links().byHandle(stateHash), await links().unanswered(handleHash), await links().byReturn(handleHash)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("64 concurrent responses to one state: exactly one is accepted", async () => {
    const { stateHash } = await startLink();
    const taken = await Promise.all(Array.from({ length: CALLERS }, () => links().answer(stateHash)));
    expect(taken.filter((each) => each !== undefined)).toEqual([{ userId: user.id, sameDevice: false }]);
    expect(await links().unanswered(stateHash)).toBeUndefined();
  });

  test("64 concurrent completions of one link: exactly one creates the credential", async () => {
    const { handleHash } = await presented("race");
    const done = await Promise.all(Array.from({ length: CALLERS }, () => links().complete(handleHash, auditOfCompletion)));
    expect(done.filter((each) => each !== undefined)).toEqual([{ state: "linked" }]);
    expect(
      await runText(database.sql, "select issuer, subject from credentials where user_id = $1::uuid and type = 'wallet'", [user.id]),
    ).toEqual([{ issuer: ISSUER, subject: "race" }]);
    expect(await links().byHandle(handleHash)).toMatchObject({ state: "linked", reason: undefined });
  });

  test("32 users who present one identity at once: exactly one links it, and the others conflict", async () => {
    const users = await Promise.all(Array.from({ length: 32 }, () => aUser(database.sql)));
    const ready = await Promise.all(users.map(({ id }) => presented("wanted", id)));
    const done = await Promise.all(ready.map(({ handleHash }) => links().complete(handleHash, auditOfCompletion)));
    expect(done.filter((each) => each?.state === "linked")).toHaveLength(1);
    expect(done.filter((each) => each?.state === "conflict" && each.reason === "identity_of_another")).toHaveLength(31);
  });

  test("two concurrent links of one user to one identity both succeed", async () => {
    const ready = await Promise.all([presented("own"), presented("own")]);
    const done = await Promise.all(ready.map(({ handleHash }) => links().complete(handleHash, auditOfCompletion)));
    expect(done).toEqual([{ state: "linked" }, { state: "linked" }]);
  });

  test("a second wallet for one account is refused with account_has_wallet", async () => {
    await links().complete((await presented("first")).handleHash, auditOfCompletion);
    const second = await presented("second");
    expect(await links().complete(second.handleHash, auditOfCompletion)).toEqual({ state: "conflict", reason: "account_has_wallet" });
    expect(await links().byHandle(second.handleHash)).toMatchObject({ state: "conflict", reason: "account_has_wallet" });
  });

  test("one subject from two issuers is two identities", async () => {
    await links().complete((await presented("same")).handleHash, auditOfCompletion);
    const other = await aUser(database.sql);
    const link = await startLink(other.id);
    await links().answer(link.stateHash);
    await links().present(link.stateHash, { issuer: "https://other.example.test", subject: "same" }, undefined);
    expect(await links().complete(link.handleHash, auditOfCompletion)).toEqual({ state: "linked" });
  });

  test("a link that was not answered or was rejected cannot be completed", async () => {
    const { handleHash, stateHash } = await startLink();
    await links().present(stateHash, { issuer: ISSUER, subject: "x" }, undefined);
    expect(await links().complete(handleHash, auditOfCompletion)).toBeUndefined();
    await links().answer(stateHash);
    await links().reject(stateHash, "issuer_not_trusted", undefined, { ...refused, userId: user.id, reason: "issuer_not_trusted" });
    await links().present(stateHash, { issuer: ISSUER, subject: "x" }, undefined);
    expect(await links().complete(handleHash, auditOfCompletion)).toBeUndefined();
    expect(await links().byHandle(handleHash)).toMatchObject({ state: "rejected", reason: "issuer_not_trusted" });
    expect(ofUser(await auditOf(database.sql, "wallet.refused"))).toMatchObject([{ reason: "issuer_not_trusted" }]);
  });

  test("an expired link cannot be answered or completed, and its expiry is recorded once", async () => {
    const [unanswered, ready] = [await startLink(), await presented("late")];
    await Promise.all([expireLink(unanswered.handleHash), expireLink(ready.handleHash)]);
    expect(await links().unanswered(unanswered.stateHash)).toBeUndefined();
    expect(await links().answer(unanswered.stateHash)).toBeUndefined();
    expect(await links().complete(ready.handleHash, auditOfCompletion)).toBeUndefined();
    expect(await links().byHandle(ready.handleHash)).toMatchObject({ state: "presented", expired: true });
    const audit = { ...refused, userId: user.id, reason: "link_expired" };
    await Promise.all(Array.from({ length: 8 }, () => links().expire(ready.handleHash, audit)));
    expect(await links().byHandle(ready.handleHash)).toMatchObject({ state: "expired", reason: "link_expired" });
    expect(ofUser(await auditOf(database.sql, "wallet.refused"))).toHaveLength(1);
  });

  test("a live link cannot be expired", async () => {
    const { handleHash } = await startLink();
    await links().expire(handleHash, refused);
    expect(await links().byHandle(handleHash)).toMatchObject({ state: "pending" });
  });

  test("a link on the same device is found by its return hash", async () => {
    const [good, bad] = [await startLink(user.id, { sameDevice: true }), await startLink(user.id, { sameDevice: true })];
    const [goodReturn, badReturn] = [aHash(), aHash()];
    expect(await links().answer(good.stateHash)).toEqual({ userId: user.id, sameDevice: true });
    await links().answer(bad.stateHash);
    await links().present(good.stateHash, { issuer: ISSUER, subject: "back" }, goodReturn);
    await links().reject(bad.stateHash, "issuer_not_trusted", badReturn, refused);
    const found = await links().byReturn(goodReturn);
    expect(found).toMatchObject({ state: "presented", sameDevice: true });
    expect([found?.handleHash, found?.returnHash].map((bytes) => hex(bytes ?? new Uint8Array()))).toEqual(
      [good.handleHash, goodReturn].map(hex),
    );
    expect(await links().byReturn(badReturn)).toMatchObject({ state: "rejected" });
  });

  test("a user has at most sixteen links: the oldest are deleted", async () => {
    const all = [];
    for (let n = 0; n < 18; n++) all.push(await startLink());
    const alive = await Promise.all(all.map(({ handleHash }) => links().byHandle(handleHash)));
    expect(alive.map((link) => link !== undefined)).toEqual([false, false, ...Array(16).fill(true)]);
  });

  test("links in every state count towards the limit of sixteen", async () => {
    const old = await startLink();
    await links().answer(old.stateHash);
    await links().reject(old.stateHash, "issuer_not_trusted", undefined, refused);
    for (let n = 0; n < 16; n++) await links().answer((await startLink()).stateHash);
    expect(await links().byHandle(old.handleHash)).toBeUndefined();
    expect(await runText(database.sql, "select 1 from wallet_links where user_id = $1::uuid", [user.id])).toHaveLength(16);
  });

  test("64 concurrent starts all return, and sixteen links are kept", async () => {
    const all = await Promise.all(Array.from({ length: CALLERS }, () => startLink()));
    expect(all.every(({ expiresAt }) => expiresAt > 0)).toBe(true);
    expect(await runText(database.sql, "select 1 from wallet_links where user_id = $1::uuid", [user.id])).toHaveLength(16);
  });

  test("a linked wallet is listed, can be unlinked once, and its identity can then be linked by another user", async () => {
    expect(await wallets().ofUser(user.id)).toBeUndefined();
    await links().complete((await presented("free")).handleHash, auditOfCompletion);
    expect(await wallets().ofUser(user.id)).toEqual({ issuer: ISSUER, linkedAt: expect.closeTo(Date.now() / 1_000, -2) });
    const audit = anAudit("wallet.unlinked", { userId: user.id });
    const session = await aSessionOf(database.sql, user.id);
    expect([await wallets().unlink(session, audit), await wallets().unlink(session, audit)]).toEqual([true, false]);
    expect(ofUser(await auditOf(database.sql, "wallet.unlinked"))).toHaveLength(1);
    const other = await aUser(database.sql);
    expect(await links().complete((await presented("free", other.id)).handleHash, auditOfCompletion)).toEqual({ state: "linked" });
    expect(await wallets().ofUser("no uuid")).toBeUndefined();
  });

  test("the issuer and subject are deleted from a link once it is completed", async () => {
    const { handleHash } = await presented("gone");
    await links().complete(handleHash, auditOfCompletion);
    const rows = await runText<{ row: string }>(
      database.sql,
      "select row_to_json(wallet_links)::text as row from wallet_links where user_id = $1::uuid",
      [user.id],
    );
    expect(rows.map(({ row }) => JSON.parse(row))).toMatchObject([{ issuer: null, subject: null }]);
  });
});
