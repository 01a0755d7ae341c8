import { createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { consents } from "../../src/store/consents.ts";
import { statement } from "../../src/store/sql.ts";
import { aSessionOf } from "../support/accounts.ts";
import { refusedWith } from "../support/admin.ts";
import { aNewId, type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

let api: ManagementFront;
let ada: string;
let bob: string;
let operator: string;
const console = () => createAdminClient({ url: api.url, token: operator }).operator;

beforeAll(async () => {
  api = await startManagement();
  ({ ada, bob, operator } = await managementUsers(api));
});
afterAll(() => api.close());

const lastRecord = async (event: "consent.revoked" | "password.reset_requested" | "realm.changed") =>
  (await console().audit.list.query({ event, limit: 1 })).records[0];

/** Of a metadata document, which has no record here. */
const NOTES = "https://notes.example.test/app";

describe("consents", () => {
  const give = async () => {
    const { id: sessionId } = await aSessionOf(api.database.sql, ada);
    const consent = { id: aNewId(), userId: ada, sessionId, clientId: NOTES, clientName: "Notes", scopes: ["openid"], resources: [] };
    const actor = { type: "user", id: ada } as const;
    await consents(api.database.sql).give(consent, { event: "consent.given", outcome: "success", actor });
    return consent.id;
  };

  test("are listed for a user, and revoked with a record that names the operator", async () => {
    const id = await give();
    const { consents: given } = await console().consents.list.query({ userId: ada });
    expect(given).toMatchObject([{ id, clientId: NOTES, clientName: "Notes", scopes: ["openid"], lastUsedAt: null }]);
    expect(await refusedWith(console().consents.revoke.mutate({ userId: bob, id }))).toMatchObject({ error: "not_found" });
    await console().consents.revoke.mutate({ userId: ada, id });
    expect(await console().consents.list.query({ userId: ada })).toEqual({ consents: [] });
    const record = { userId: ada, reason: "by_operator", actor: { type: "user", id: operator.slice(3) } };
    expect(await lastRecord("consent.revoked")).toMatchObject(record);
  });

  test("of an unknown user return not_found", async () => {
    expect(await refusedWith(console().consents.list.query({ userId: aNewId() }))).toMatchObject({ error: "not_found" });
  });
});

describe("a link for a new password", () => {
  const QUEUED = statement("test_reset_mails", "select recipient, html from outbox where about = 'reset'");

  test("is sent to a user, with a record that names the operator", async () => {
    expect(await console().users.sendReset.mutate({ id: bob, language: "de" })).toEqual({ id: bob, email: "bob@example.test" });
    const [mail] = await api.database.sql.query<{ recipient: string; html: string }>(QUEUED, []);
    expect(mail?.recipient).toBe("bob@example.test");
    expect(mail?.html).toMatch(/lang="de"[\s\S]*\/reset\?token=[0-9a-f]{64}/);
    const record = { userId: bob, reason: "by_operator", actor: { type: "user", id: operator.slice(3) } };
    expect(await lastRecord("password.reset_requested")).toMatchObject(record);
  });

  test("is not sent to a disabled user", async () => {
    await console().users.disable.mutate({ id: ada });
    expect(await refusedWith(console().users.sendReset.mutate({ id: ada }))).toMatchObject({ error: "conflict" });
    await console().users.enable.mutate({ id: ada });
  });
});

test("the addresses of users are looked up in one call, which leaves out unknown ids", async () => {
  const { users } = await console().users.addresses.query({ ids: [ada, aNewId(), "no-uuid"] });
  expect(users).toEqual([{ id: ada, email: "ada@example.test" }]);
});

describe("realms", () => {
  test("are created once by name, with a record", async () => {
    const created = await console().realms.create.mutate({ name: "Partners" });
    expect(created).toMatchObject({ name: "Partners", dynamicRegistrationScopes: null });
    expect(await lastRecord("realm.changed")).toMatchObject({ reason: "created", resources: [`realm:${created.id}`] });
    const again = await refusedWith(console().realms.create.mutate({ name: "Partners" }));
    expect(again).toMatchObject({ error: "conflict", issues: [{ path: "name" }] });
    expect((await console().realms.list.query()).realms).toHaveLength(2);
  });

  test("show their branding, and preview another one without storing it", async () => {
    const { id } = await console().realms.create.mutate({ name: "Bank" });
    await console().realms.setBranding.mutate({ id, branding: { name: "Bank & Co", accent: "#7a1f3d" } });
    expect(await console().realms.get.query({ id })).toMatchObject({ requiredAcr: null, branding: { name: "Bank & Co", logoData: null } });
    const preview = { id, branding: { name: "<Other>", accent: null }, language: "de", nonce: "abc123==" } as const;
    const { pages } = await console().realms.previewBranding.mutate(preview);
    expect(pages.map(({ name }) => name)).toEqual(["sign-in", "consent", "notice", "mail"]);
    for (const { html } of pages) expect(html).toMatch(/&lt;Other&gt;|lang="de"/);
    expect(pages.map(({ html }) => html).join("")).not.toMatch(/<script|<Other>|#7a1f3d/);
    const { pages: coloured } = await console().realms.previewBranding.mutate({ ...preview, branding: { accent: "#7a1f3d" } });
    expect(coloured[0]?.html).toContain('<style nonce="abc123==">');
    expect(await console().realms.get.query({ id })).toMatchObject({ branding: { name: "Bank & Co" } });
    expect(await refusedWith(console().realms.previewBranding.mutate({ ...preview, nonce: '">' }))).toMatchObject({
      error: "invalid_request",
    });
  });
});

describe("a token of the console", () => {
  let front: ManagementFront;
  let proof: { proofAge?: number; acr?: string } = {};
  beforeAll(async () => {
    const judge = async () =>
      ({ userId: operator.slice(3), clientId: "countersign-console", scopes: ["server:manage"], role: "operator", ...proof }) as const;
    front = await startManagement({ bearers: { judge } });
  });
  afterAll(() => front.close());

  test("needs a fresh proof for what cannot be undone, and nothing has changed without it", async () => {
    const admin = createAdminClient({ url: front.url, token: "t" }).operator;
    const { ada: someone } = await managementUsers(front);
    const refused = await front.call("t", "POST", "/trpc/operator.users.delete", { id: someone });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="http://localhost:3000", error="insufficient_user_authentication", max_age="300"',
    ]);
    expect((await refused.json()).error.data).toMatchObject({ error: "insufficient_user_authentication", maxAge: 300 });
    expect(await refusedWith(admin.users.invite.mutate({ email: "new@example.test", role: "operator" }))).toMatchObject({
      error: "insufficient_user_authentication",
    });
    const guess = { users: [{ email: "ada@example.test", password: "a guessed password" }] };
    for (const refusal of [admin.provision.mutate(guess), admin.previewProvision.mutate(guess)].map(refusedWith))
      expect(await refusal).toMatchObject({ error: "insufficient_user_authentication" });
    expect(await admin.users.disable.mutate({ id: someone })).toMatchObject({ enabled: false });
    proof = { proofAge: 10 };
    await admin.users.delete.mutate({ id: someone });
    expect(await refusedWith(admin.users.get.query({ id: someone }))).toMatchObject({ error: "not_found" });
  });
});
