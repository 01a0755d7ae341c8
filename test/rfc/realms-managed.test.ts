import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorAt, refusedWith } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";

const UNKNOWN = "0198f5a2-0000-7000-8000-000000000001";
const MFA = "urn:countersign:mfa";

let server: TestServer;
let operator: Awaited<ReturnType<typeof operatorAt>>;
/** Ids of realms. */
let guests: string;
let byDefault: string;
beforeAll(async () => {
  const realms = [{ name: "guests", branding: { name: "Guests of Acme" } }];
  server = await startServer({ provision: { ...PROVISIONED, realms } });
  operator = await operatorAt(server.url);
  const listed = (await operator.realms.list.query()).realms;
  [guests = "", byDefault = ""] = ["guests", "default"].map((wanted) => listed.find(({ name }) => name === wanted)?.id);
});
afterAll(() => server.close());

let count = 0;
const anEmail = () => `visitor-${++count}@example.test`;
const aRealm = async (name = `realm ${++count}`) => operator.realms.create.mutate({ name });
const inGuests = () => operator.users.create.mutate({ email: anEmail(), password: PASSWORD, realmId: guests });
const lastChange = async () => (await operator.audit.list.query({ event: "realm.changed", limit: 1 })).records[0];

describe("a realm that an operator names", () => {
  test("is that of a new account, in whichever case its id is written", async () => {
    const email = anEmail();
    const created = await operator.users.create.mutate({ email, password: PASSWORD, realmId: guests.toUpperCase() });
    expect(created).toMatchObject({ email, realmId: guests });
    expect(await operator.users.create.mutate({ email: anEmail(), password: PASSWORD })).toMatchObject({ realmId: byDefault });
  });

  test("is that of an invitation, of its mail and page, and of the account that it opens", async () => {
    const email = anEmail();
    expect(await operator.users.invite.mutate({ email, realmId: guests })).toMatchObject({ email, realmId: guests });
    expect((await operator.invitations.list.query({ search: email })).invitations).toMatchObject([{ email, realmId: guests }]);
    await expect.poll(() => server.mailTo(email) ?? "").toContain("Guests of Acme");
    const browser = aBrowser(server.url);
    const page = await browser.follow(`/invitation?token=${await server.verificationToken(email)}`);
    expect(page.html).toContain("· Guests of Acme</title>");
    await browser.submit(page, { email, password: PASSWORD });
    expect((await operator.users.list.query({ search: email })).users).toMatchObject([{ email, realmId: guests }]);
  });

  test("stays that of an invitation which is sent again, until another one is named", async () => {
    const email = anEmail();
    const realmOf = async () => (await operator.invitations.list.query({ search: email })).invitations[0]?.realmId;
    expect(await operator.users.invite.mutate({ email })).toMatchObject({ realmId: byDefault });
    await operator.users.invite.mutate({ email, realmId: guests });
    expect(await operator.users.invite.mutate({ email, role: "user" })).toMatchObject({ realmId: guests });
    expect(await realmOf()).toBe(guests);
    await operator.users.invite.mutate({ email, realmId: byDefault });
    expect(await realmOf()).toBe(byDefault);
  });

  test("is refused where it does not exist, or the text is no id", async () => {
    const { id } = await inGuests();
    const member = { issues: [{ path: "realmId" }] };
    for (const [realmId, refused] of [
      [UNKNOWN, { error: "invalid_request", message: "There is no such realm.", ...member }],
      ["guests", { error: "invalid_request", ...member }],
    ] as const) {
      expect(await refusedWith(operator.users.create.mutate({ email: anEmail(), password: PASSWORD, realmId }))).toMatchObject(refused);
      expect(await refusedWith(operator.users.invite.mutate({ email: anEmail(), realmId }))).toMatchObject(refused);
      expect(await refusedWith(operator.users.setRealm.mutate({ id, realmId }))).toMatchObject(refused);
    }
    expect(await refusedWith(operator.users.setRealm.mutate({ id: UNKNOWN, realmId: guests }))).toMatchObject({ error: "not_found" });
    expect(await operator.users.get.query({ id })).toMatchObject({ realmId: guests });
  });
});

describe("a user who is moved", () => {
  test("has the branding and the demands of the new realm at the next request, and keeps the session", async () => {
    const strict = await aRealm();
    await operator.realms.setRequiredAcr.mutate({ id: strict.id, requiredAcr: MFA });
    const { id, email } = await inGuests();
    const browser = aBrowser(server.url);
    await browser.json("/auth/login", { email, password: PASSWORD });
    expect((await browser.follow("/account")).html).toContain("· Guests of Acme</title>");
    expect(await operator.users.setRealm.mutate({ id, realmId: strict.id })).toMatchObject({ id, realmId: strict.id });
    expect((await browser.follow("/account")).html).not.toContain("Guests of Acme");
    const asked = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", scope: "openid" };
    expect((await browser.follow(server.authorizeUrl(server.clients.web, asked))).url).toContain("/login/set-up");
    expect((await aBrowser(server.url).json("/auth/login", { email, password: PASSWORD })).status).toBe(403);
  });

  test("leaves one record, which names the realm, and none where it is theirs already", async () => {
    const { id } = await inGuests();
    for (let times = 0; times < 2; times++) await operator.users.setRealm.mutate({ id, realmId: byDefault.toUpperCase() });
    const { records } = await operator.audit.list.query({ userId: id, event: "user.changed" });
    expect(records).toMatchObject([{ reason: "realm", resources: [`realm:${byDefault}`] }]);
  });
});

describe("the name of a realm", () => {
  test("has no blanks around it, and no other realm has it", async () => {
    expect(await aRealm("  visitors ")).toMatchObject({ name: "visitors" });
    for (const name of ["visitors", " visitors", "visitors\u3000", "Visitors", "VISITORS"])
      expect(await refusedWith(aRealm(name))).toMatchObject({ error: "conflict", issues: [{ path: "name" }] });
  });

  test.for([
    ["", "nothing"],
    [" \u2003 ", "blanks alone"],
    ["\u2800", "a blank pattern"],
    ["guests\u200b", "a space without width"],
    ["gue\u00adsts", "a soft hyphen"],
    ["guests\u0007", "a control character"],
    ["gue\nsts", "a line break"],
    ["\u202estseug", "another direction"],
    ["g".repeat(256), "more than 255 characters"],
  ])("is refused with %j: %s", async ([name = ""], { expect }) => {
    const { id } = await aRealm();
    for (const refusal of [operator.realms.create.mutate({ name }), operator.realms.rename.mutate({ id, name })].map(refusedWith))
      expect(await refusal).toMatchObject({ error: "invalid_request", issues: [{ path: "name" }] });
  });

  test("can be changed: id and users stay, the record names the realm, and the former name is free", async () => {
    const { id, name: former } = await aRealm();
    const user = await operator.users.create.mutate({ email: anEmail(), password: PASSWORD, realmId: id });
    expect(await operator.realms.rename.mutate({ id, name: " Contractors " })).toMatchObject({ id, name: "Contractors" });
    expect(await lastChange()).toMatchObject({
      reason: "renamed",
      resources: [`realm:${id}`],
      note: expect.stringMatching(/^realm \d+ → Contractors$/),
    });
    expect(await operator.realms.rename.mutate({ id, name: "CONTRACTORS" })).toMatchObject({ id, name: "CONTRACTORS" }); // its own name
    expect(await operator.realms.rename.mutate({ id, name: "Contractors" })).toMatchObject({ id });
    expect(await operator.realms.get.query({ id })).toMatchObject({ name: "Contractors" });
    expect(await operator.users.get.query({ id: user.id })).toMatchObject({ realmId: id });
    expect(await aRealm(former)).toMatchObject({ name: former });
    expect(await refusedWith(operator.realms.rename.mutate({ id, name: "Guests" }))).toMatchObject({ error: "conflict" });
    expect(await operator.realms.rename.mutate({ id, name: "Contractors" })).toMatchObject({ id });
    expect(await refusedWith(operator.realms.rename.mutate({ id: UNKNOWN, name: "Any" }))).toMatchObject({ error: "not_found" });
  });

  test("stays where it is `default`, and the realm too", async () => {
    const refused = { error: "conflict", message: "The realm `default` can be neither renamed nor removed." };
    expect(await refusedWith(operator.realms.rename.mutate({ id: byDefault, name: "Main" }))).toMatchObject(refused);
    expect(await refusedWith(operator.realms.remove.mutate({ id: byDefault }))).toMatchObject(refused);
    expect(await refusedWith(aRealm("default"))).toMatchObject({ error: "conflict" });
  });
});

describe("a realm that is removed", () => {
  test("takes its descriptions of scopes and records of resources with it, and leaves a record", async () => {
    const { id: realmId, name } = await aRealm();
    const resource = "https://of-a-realm.example.test/mcp";
    await operator.scopes.set.mutate({ realmId, name: "of:realm", title: { en: "See it" } });
    await operator.resources.create.mutate({ realmId, resource });
    expect(await operator.realms.remove.mutate({ id: realmId.toUpperCase() })).toEqual({ id: realmId });
    expect(await lastChange()).toMatchObject({ reason: "removed", resources: [`realm:${realmId}`] });
    for (const call of [operator.realms.get.query, operator.realms.remove.mutate])
      expect(await refusedWith(call({ id: realmId }))).toMatchObject({ error: "not_found" });
    expect((await operator.realms.list.query({ search: name })).realms).toEqual([]);
    const left = "select 1 from scope_descriptions where realm_id = $1::uuid union all select 2 from resources where realm_id = $1::uuid";
    expect(await runText(server.database.sql, left, [realmId])).toEqual([]);
  });

  test("is refused with what is in it, until all of that is elsewhere", async () => {
    const { id: realmId } = await aRealm();
    const refusal = async () => (await refusedWith(operator.realms.remove.mutate({ id: realmId })))?.message;
    const [first, second] = [anEmail(), anEmail()];
    const users = await Promise.all([first, second].map((email) => operator.users.create.mutate({ email, password: PASSWORD, realmId })));
    const invited = anEmail();
    await operator.users.invite.mutate({ email: invited, realmId });
    const provider = { issuer: "https://login.example.test", clientId: "us", clientSecret: "upstream-secret" };
    await operator.connections.create.mutate({ realmId, name: "in-realm", title: "In a realm", ...provider });
    expect(await refusal()).toBe("The realm is not empty: it has 2 users, 1 connection, and 1 open invitation.");
    await operator.users.setRealm.mutate({ id: users[0]?.id ?? "", realmId: guests });
    await operator.connections.remove.mutate({ name: "in-realm" });
    expect(await refusal()).toBe("The realm is not empty: it has 1 user and 1 open invitation.");
    await operator.users.delete.mutate({ id: users[1]?.id ?? "" });
    expect(await refusal()).toBe("The realm is not empty: it has 1 open invitation.");
    const { id } = (await operator.invitations.list.query({ search: invited })).invitations[0] ?? { id: "" };
    await operator.invitations.withdraw.mutate({ id });
    expect(await operator.realms.remove.mutate({ id: realmId })).toEqual({ id: realmId });
  });

  test("takes invitations that no longer work with it", async () => {
    const { id: realmId } = await aRealm();
    const email = anEmail();
    await operator.users.invite.mutate({ email, realmId });
    await runText(server.database.sql, "update invitations set expires_at = now() - interval '1 minute' where email = $1", [email]);
    await operator.realms.remove.mutate({ id: realmId });
    expect(await runText(server.database.sql, "select 1 from invitations where email = $1", [email])).toEqual([]);
  });
});
