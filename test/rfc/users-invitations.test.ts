import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { linkTokenHash } from "../../src/accounts/mails.ts";
import { registerUserCommands } from "../../src/cli/users.ts";
import { invitations } from "../../src/store/invitations.ts";
import { auditOf } from "../support/accounts.ts";
import { adminAs, operatorAt, refusedWith } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ env: { SIGN_UP: "invited" } });
});
afterAll(() => server.close());

let count = 0;
const anEmail = () => `guest${++count}@example.test`;
const invitationFor = async (email: string) => `/invitation?token=${await server.verificationToken(email)}`;

describe("an invitation", () => {
  test("opens an account with its role and a verified address, signed in, without a second form", async () => {
    const email = anEmail();
    const operator = await operatorAt(server.url);
    expect(await operator.users.invite.mutate({ email, role: "user" })).toMatchObject({ email, role: "user", hours: 168 });
    const browser = aBrowser(server.url);
    const page = await browser.follow(await invitationFor(email));
    expect(page.html).toContain(`value="${email}"`);
    const account = await browser.submit(page, { email: email.toUpperCase(), password: PASSWORD });
    expect([account.status, account.url]).toEqual([200, `${server.url}/account`]);
    const { users } = await operator.users.list.query({ search: email });
    expect(users).toMatchObject([{ email, role: "user", emailVerified: true }]);
    expect(await auditOf(server.database.sql, "user.invited")).toMatchObject([{ reason: "role_user" }]);
  });

  test("works once, also for many at once", async () => {
    const email = anEmail();
    await (await operatorAt(server.url)).users.invite.mutate({ email });
    const link = await invitationFor(email);
    const browsers = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const browser = aBrowser(server.url);
        return { browser, page: await browser.follow(link) };
      }),
    );
    const ends = await Promise.all(browsers.map(({ browser, page }, n) => browser.submit(page, { email, password: `${PASSWORD} ${n}` })));
    expect(ends.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400]);
    expect((await aBrowser(server.url).follow(link)).html).toContain("This link no longer works");
  });

  test("that is sent twice by one browser signs in to its account twice", async () => {
    const email = anEmail();
    await (await operatorAt(server.url)).users.invite.mutate({ email });
    const browser = aBrowser(server.url);
    const page = await browser.follow(await invitationFor(email));
    const twice = await Promise.all([1, 2].map(() => browser.submit(page, { email, password: PASSWORD })));
    expect(twice.map(({ url }) => url)).toEqual([`${server.url}/account`, `${server.url}/account`]);
    const other = await browser.submit(page, { email, password: `${PASSWORD} 2` });
    expect([other.status, other.html.includes("This link no longer works")]).toEqual([400, true]);
  });

  test("that is sent again is refused with the wait, once the limit of sign-ins is reached", async () => {
    const email = anEmail();
    await (await operatorAt(server.url)).users.invite.mutate({ email });
    const browser = aBrowser(server.url);
    const page = await browser.follow(await invitationFor(email));
    await browser.submit(page, { email, password: PASSWORD });
    let refused = await browser.submit(page, { email, password: `${PASSWORD} 2` });
    for (let n = 0; n < 10 && refused.status === 400; n++) refused = await browser.submit(page, { email, password: `${PASSWORD} 2` });
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0, refused.html.includes("Too many failed attempts. ")]).toEqual([
      429,
      true,
      true,
    ]);
  });

  test("is refused for another address, which does not use it up", async () => {
    const email = anEmail();
    await (await operatorAt(server.url)).users.invite.mutate({ email });
    const browser = aBrowser(server.url);
    const page = await browser.follow(await invitationFor(email));
    const refused = await browser.submit(page, { email: "eve@example.test", password: PASSWORD });
    expect([refused.status, refused.html.includes("for another e-mail address")]).toEqual([400, true]);
    expect((await browser.submit(refused, { email, password: PASSWORD })).status).toBe(200);
  });

  test("is refused late, replaced or as a link of setup; each page says what to do", async () => {
    const email = anEmail();
    const operator = await operatorAt(server.url);
    await operator.users.invite.mutate({ email, language: "de" });
    const link = await invitationFor(email);
    expect((await aBrowser(server.url).follow(link.replace("invitation", "setup"))).status).toBe(400);
    await runText(server.database.sql, "update invitations set expires_at = now()");
    const late = await aBrowser(server.url, { "accept-language": "de" }).follow(link);
    expect([late.status, late.html.includes("um eine neue Einladung")]).toEqual([400, true]);
    await operator.users.invite.mutate({ email });
    expect((await aBrowser(server.url).follow(link)).status).toBe(400);
  });

  test("is refused with 409 for an address with an account, before and after it was sent", async () => {
    const email = anEmail();
    const operator = await operatorAt(server.url);
    expect(await refusedWith(operator.users.invite.mutate({ email: OPERATOR.email }))).toMatchObject({ error: "conflict" });
    await operator.users.invite.mutate({ email });
    const browser = aBrowser(server.url);
    const page = await browser.follow(await invitationFor(email));
    await operator.users.create.mutate({ email, password: PASSWORD });
    for (const answer of [await browser.submit(page, { email, password: PASSWORD }), await browser.follow(page.url)]) {
      expect([answer.status, answer.html.includes('href="/login"')]).toEqual([409, true]);
      expect(answer.html).toContain(`There is an account with the address ${email} already.`);
      expect(answer.html).not.toContain("only a password is missing");
    }
  });

  test.for(["disabled", "deleted", "no operator any more"] as const)("is refused once its sender is %s", async (change) => {
    const [sender, email] = [anEmail(), anEmail()];
    const operator = await operatorAt(server.url);
    const { id } = await operator.users.create.mutate({ email: sender, password: PASSWORD, role: "operator" });
    const { admin } = await adminAs(server.url, { email: sender, password: PASSWORD });
    await admin.operator.users.invite.mutate({ email, role: "operator" });
    const link = await invitationFor(email);
    const browser = aBrowser(server.url);
    const page = await browser.follow(link);
    if (change === "disabled") await operator.users.disable.mutate({ id });
    else if (change === "deleted") await operator.users.delete.mutate({ id });
    else await operator.users.setRole.mutate({ id, role: "developer" });
    expect((await browser.submit(page, { email, password: PASSWORD })).status).toBe(400);
    expect((await aBrowser(server.url).follow(link)).status).toBe(400);
    // As when the sender changes after the form was found valid.
    const token = linkTokenHash(new URL(link, server.url).searchParams.get("token") ?? "", "unusable");
    const newcomer = { id: randomUUID(), email, passwordHash: "x" };
    const audit = { event: "user.registered", outcome: "success", actor: { type: "user", id: newcomer.id } } as const;
    expect(await invitations(server.database.sql).accept(token, newcomer, audit)).toBeUndefined();
    expect((await operator.invitations.list.query({ search: email })).invitations).toEqual([]);
    await operator.users.invite.mutate({ email });
    expect((await operator.invitations.list.query({ search: email })).invitations).toMatchObject([{ email }]);
  });

  test("is an operator's to send", async () => {
    const email = anEmail();
    await (await operatorAt(server.url)).users.create.mutate({ email, password: PASSWORD });
    const { admin } = await adminAs(server.url, { email, password: PASSWORD });
    expect(await refusedWith(admin.operator.users.invite.mutate({ email: anEmail() }))).toMatchObject({ httpStatus: 403 });
  });
});

describe("countersign users", () => {
  /** A terminal of the operator, at which every question gets the same answer. */
  function operatorsTerminal(answer: string) {
    const { run, leave } = aTerminal({ serverUrl: server.url, ...OPERATOR }, async () => answer);
    onTestFinished(leave);
    return (...words: string[]) => run([registerUserCommands], ["users", ...words]);
  }

  test("creates, disables, enables and deletes a user", async () => {
    const email = anEmail();
    const users = operatorsTerminal(PASSWORD);
    expect(await users("create", email, "--role", "developer")).toMatchObject({ code: 0, err: "" });
    expect((await aBrowser(server.url).json("/auth/login", { email, password: PASSWORD })).status).toBe(200);
    expect((await users("create", email)).err).toContain("There is already an account with this e-mail address.");
    await expect(users("create", "ada")).rejects.toThrow("must be an e-mail address");
    expect((await users("create", "m\u00fcller@example.test")).err).toContain("must be an e-mail address in ASCII");
    await users("disable", email);
    expect((await aBrowser(server.url).json("/auth/login", { email, password: PASSWORD })).status).toBe(401);
    expect(await users("enable", email)).toMatchObject({ code: 0, err: "" });
    expect(await users("delete", email)).toMatchObject({ code: 1, err: "Nothing was deleted.\n" });
    expect(await users("delete", email, "--yes")).toMatchObject({ code: 0, out: `Deleted ${email}.\n` });
    expect((await users("list", "--search", email)).out).not.toContain(email);
    expect((await users("delete", OPERATOR.email, "--yes")).err).toContain("This is your own account.");
  });

  test("lists open invitations, and withdraws one, whose link stops working", async () => {
    const [kept, withdrawn] = [anEmail(), anEmail()];
    const users = operatorsTerminal("");
    for (const email of [kept, withdrawn]) await users("invite", email, "--role", "user");
    const link = await invitationFor(withdrawn);
    expect((await users("invitations")).out).toMatch(new RegExp(`^${withdrawn} +user +\\S+Z +\\S+Z +default\n${kept} `, "m"));
    expect((await users("withdraw", withdrawn.toUpperCase())).out).toBe(`Withdrew the invitation of ${withdrawn}.\n`);
    expect((await aBrowser(server.url).follow(link)).status).toBe(400);
    expect((await users("invitations")).out).not.toContain(withdrawn);
    expect(await users("withdraw", withdrawn)).toMatchObject({ code: 4, err: `No invitation of ${withdrawn} waits.\n` });
    expect((await auditOf(server.database.sql, "user.invited")).at(-1)).toMatchObject({ reason: "withdrawn" });
  });

  test("invites, and says how long the link works", async () => {
    const email = anEmail();
    const said = await operatorsTerminal("")("invite", email, "--role", "operator", "--hours", "1");
    expect([said.code, said.out]).toEqual([0, `Invited ${email} as operator; the link works for 1 hour.\n`]);
    expect(await invitationFor(email)).toMatch(/[0-9a-f]{64}$/);
    expect((await operatorsTerminal("")("invite", anEmail())).out).toContain("; the link works for 7 days.");
  });
});
