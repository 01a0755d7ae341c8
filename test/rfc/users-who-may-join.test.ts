import { expect } from "vitest";
import { adminAs, operatorAt, refusedWith } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { PASSWORD } from "../support/flow.ts";
import { describe, PROVISIONED, testOn } from "../support/server.ts";

const onDomains = testOn({ env: { SIGN_UP: "domains", SIGN_UP_DOMAINS: "example.com example.org" } });
const onInvited = testOn({ env: { SIGN_UP: "invited" } });
const MEMBER = { email: "member@example.test", password: PASSWORD };
const onClosed = testOn({
  env: { SIGN_UP: "closed" },
  provision: { ...PROVISIONED, users: [...PROVISIONED.users, { ...MEMBER, emailVerified: true, role: "user" }] },
});
const onRole = testOn({ env: { DEVELOPERS: "role" } });
const onOperators = testOn({ env: { DEVELOPERS: "operators" } });

const ADA = { email: "ada@example.com", password: PASSWORD };

describe("SIGN_UP=domains", () => {
  const test = onDomains;

  test("refuses an address of another domain with 403, and the form shows the error at its field", async ({ server }) => {
    const browser = aBrowser(server.url);
    const api = await browser.json("/auth/register", { email: "eve@example.net", password: PASSWORD });
    expect(api.status).toBe(403);
    expect(api.body).toMatchObject({ error: "Forbidden", statusCode: 403 });
    const form = await browser.follow("/signup");
    expect(form.html).toContain("Use an address at example.com and example.org.");
    const refused = await browser.submit(form, { email: "eve@example.net", password: PASSWORD });
    expect([refused.status, refused.html.includes('href="#email"')]).toEqual([403, true]);
    expect(refused.html).toContain("Addresses of this domain cannot open an account here.");
  });

  test("users can sign in only after they confirmed the address, and are offered the mail again", async ({ server }) => {
    const browser = aBrowser(server.url);
    expect((await browser.json("/auth/register", ADA)).status).toBe(201);
    expect((await browser.json("/auth/login", ADA)).status).toBe(403);
    expect((await browser.json("/auth/login", { ...ADA, password: "wrong password 1" })).status).toBe(401);
    const waiting = await browser.submit(await browser.follow("/login"), ADA);
    expect([new URL(waiting.url).pathname, waiting.html.includes(`We have sent a message with a link to ${ADA.email}.`)]).toEqual([
      "/signup/sent",
      true,
    ]);
    await server.get(`/auth/verify?token=${await server.verificationToken(ADA.email)}`);
    expect((await browser.json("/auth/login", ADA)).status).toBe(200);
  });
});

describe("SIGN_UP=invited", () => {
  const test = onInvited;

  test("page and API return 403 to sign-ups without an invitation, and the sign-in page offers no sign-up", async ({ server }) => {
    const browser = aBrowser(server.url);
    expect((await browser.json("/auth/register", ADA)).status).toBe(403);
    const page = await browser.follow("/signup");
    expect([page.status, page.html.includes("<form")]).toEqual([403, false]);
    expect(page.html).toContain("needs an invitation");
    expect((await aBrowser(server.url, { "accept-language": "de" }).follow("/signup")).html).toContain("Einladung");
    expect((await browser.follow("/login")).html).not.toContain("/signup");
  });
});

describe("SIGN_UP=closed", () => {
  const test = onClosed;

  test("page and API return 403 to sign-ups, and the page says that operators create accounts", async ({ server }) => {
    const browser = aBrowser(server.url);
    expect((await browser.json("/auth/register", ADA)).status).toBe(403);
    const page = await browser.follow("/signup");
    expect([page.status, page.html.includes("create all accounts themselves")]).toEqual([403, true]);
  });

  test("a user who deleted the account is not offered a new one", async ({ server }) => {
    const browser = aBrowser(server.url);
    await browser.submit(await browser.follow("/login"), MEMBER);
    const page = await browser.submit(await browser.follow("/account/delete"), {});
    expect([page.status, page.html.includes("has been deleted"), page.html.includes("/signup")]).toEqual([200, true, false]);
  });
});

describe("DEVELOPERS=role", () => {
  const test = onRole;
  const client = { name: "Mine", redirectUris: ["https://app.example.com/cb"] };

  test("users sign up with the role user, and create clients once an operator makes them developers", async ({ server }) => {
    const { email, id } = await server.signedInUser();
    const { admin } = await adminAs(server.url, { email, password: PASSWORD });
    expect(await refusedWith(admin.clients.create.mutate(client))).toMatchObject({ error: "forbidden", httpStatus: 403 });
    expect([(await admin.account.get.query()).role, (await admin.clients.list.query()).clients]).toEqual(["user", []]);
    const operator = await operatorAt(server.url);
    expect((await operator.users.get.query({ id })).role).toBe("user");
    await operator.users.setRole.mutate({ id, role: "developer" });
    expect((await admin.clients.create.mutate(client)).name).toBe("Mine");
  });
});

describe("DEVELOPERS=operators", () => {
  const test = onOperators;

  test("POST /api/clients/ returns 403 to other users", async ({ server }) => {
    const { login } = await server.signedInUser();
    const response = await fetch(`${server.url}/api/clients/`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${login.access_token}` },
      body: JSON.stringify({ name: "Mine", redirectUris: ["https://app.example.com/cb"] }),
    });
    expect([response.status, (await response.json()).error]).toEqual([403, "Forbidden"]);
  });
});
