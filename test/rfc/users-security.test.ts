import { describe, expect } from "vitest";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { tokenIn, withForm } from "../support/authenticator-app.ts";
import { aBrowser, type Browser, formsOf, type Visit } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { type TestServer, test } from "../support/server.ts";

const NEW = "a brand new battery";
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

const alive = async (browser: Browser) => (await browser.json("/consents", undefined, "GET")).status === 200;
const signIn = async (server: TestServer, email: string, password: string, agent = FIREFOX) => {
  const browser = aBrowser(server.url, { "user-agent": agent });
  const { status, body } = await browser.json("/auth/login", { email, password });
  return { browser, status, tokens: body };
};
const refresh = (server: TestServer, refreshToken: string) =>
  server.form("/oauth/token", { grant_type: "refresh_token", refresh_token: refreshToken, client_id: "countersign" });
const security = (browser: Browser) => browser.follow("/account/security");
const changePassword = async (browser: Browser, password: string) =>
  browser.submit(await browser.follow("/account/security/password"), { password });

test("a passkey that is removed in another tab is removed here too", async ({ server }) => {
  const { browser } = await server.signedInUser();
  const { html } = await security(browser);
  const body = new URLSearchParams({
    form_token: /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? "",
    passkey: "0198f2f2-0000-7000-8000-000000000000",
  });
  const removed = await browser.follow("/account/security/passkeys/remove", { method: "POST", body, headers: { origin: server.url } });
  expect([removed.status, removed.html.includes("The passkey has been removed.")]).toEqual([200, true]);
});

test("a form of the security page leads back there after the sign-in that it needs", async ({ server }) => {
  const { email, browser, id } = await server.signedInUser();
  await signIn(server, email, PASSWORD);
  const page = await security(browser);
  const form = formsOf(page.html, page.url).find(({ action }) => action.endsWith("/sessions/end-others"));
  await runText(server.database.sql, "update sessions set ended_at = now() where user_id = $1::uuid", [id]);
  const body = new URLSearchParams(form?.fields);
  const asked = await browser.follow(form?.action ?? "", { method: "POST", body, headers: { origin: server.url } });
  expect((await browser.submit(asked, { email, password: PASSWORD })).url).toBe(`${server.url}/account/security`);
});

describe("a form of the account pages in another tab", () => {
  const changeName = (browser: Browser, page: Visit) => browser.submit(page, { firstName: "Ada", lastName: "L" });

  test("counts after its user has signed in again, as for a fresh proof", async ({ server }) => {
    const { email, browser, id } = await server.signedInUser();
    const [name, password] = [await browser.follow("/account"), await browser.follow("/account/security/password")];
    await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
    const before = browser.cookies.get("countersign");
    await browser.submit(await browser.follow("/account/delete"), { email, password: PASSWORD });
    expect(browser.cookies.get("countersign")).not.toBe(before);
    expect((await changeName(browser, name)).html).toContain('value="Ada"');
    expect((await browser.submit(password, { password: NEW })).html).toContain("Your password has been changed");
    expect((await changeName(browser, name)).status).toBe(200);
  });

  test("does not count for another user who has signed in since", async ({ server }) => {
    const [browser, { email }, other] = [aBrowser(server.url), await server.signedInUser(), await server.signedInUser()];
    await browser.submit(await browser.follow("/login"), { email, password: PASSWORD });
    const [page, password] = [await browser.follow("/account"), await browser.follow("/account/security/password")];
    const out = await browser.follow("/logout");
    await browser.submit(out, { form_token: tokenIn(out.html) });
    await browser.submit(await browser.follow("/login"), { email: other.email, password: PASSWORD });
    expect((await changeName(browser, page)).status).toBe(403);
    expect((await browser.submit(password, { password: NEW })).status).toBe(403);
    expect((await signIn(server, other.email, PASSWORD)).status).toBe(200);
  });
});

test.for([
  ["/device", { user_code: "BBBB-BBBB" }, "That code is not right"],
  ["/forgot", { email: "" }, "Enter an e-mail address"],
] as const)(
  "a form that needs no user counts after a sign-in and a sign-out in another tab: %s",
  async ([path, typed, words], { server }) => {
    const { email } = await server.signedInUser();
    const browser = aBrowser(server.url);
    const login = await browser.follow("/login");
    await browser.submit(login, { email, password: PASSWORD });
    const page = await browser.follow(path);
    await browser.submit(login, { email, password: PASSWORD });
    expect((await browser.submit(page, typed)).html).toContain(words);
    const out = await browser.follow("/logout");
    await browser.submit(out, { form_token: tokenIn(out.html) });
    expect((await browser.submit(page, typed)).html).toContain(words);
  },
);

test("the page promises no mail to an address that was confirmed in another tab", async ({ server }) => {
  const { browser, id } = await server.signedInUser();
  const confirm = (is: boolean) => runText(server.database.sql, `update users set email_verified = ${is} where id = $1::uuid`, [id]);
  await confirm(false);
  const resend = async () => {
    const page = await browser.follow("/account");
    const form = formsOf(page.html, page.url).find(({ action }) => action.endsWith("/account/resend"));
    return () =>
      browser.follow(form?.action ?? "", { method: "POST", body: new URLSearchParams(form?.fields), headers: { origin: server.url } });
  };
  const [first, second] = [await resend(), await resend()];
  expect((await first()).html).toContain("A new message is on its way to you.");
  await confirm(true);
  expect((await second()).html).not.toContain("A new message is on its way to you.");
});

test("the page says when another mail can be sent, once the limit is reached", async ({ server }) => {
  const { browser, id } = await server.signedInUser();
  await runText(server.database.sql, "update users set email_verified = false where id = $1::uuid", [id]);
  const resend = async () => {
    const page = await browser.follow("/account");
    const form = withForm(page, "/account/resend");
    return browser.submit(form, { form_token: tokenIn(form.html) });
  };
  let answer = await resend();
  while (answer.status === 200) answer = await resend();
  expect([answer.status, Number(answer.headers.get("retry-after")) > 0]).toEqual([429, true]);
  expect(answer.html).toMatch(/Too many requests\. Try again in \d+ minutes\.[\s\S]*Applications with access/);
});

test("a password manager finds where the password is changed", async ({ server }) => {
  const { browser } = await server.signedInUser();
  expect((await browser.follow("/.well-known/change-password")).url).toBe(`${server.url}/account/security/password`);
});

test.for([
  ["/account/security/passkeys/rename", "That passkey has been removed, so there is nothing to rename."],
  ["/account/security/app/codes", "Two-step sign-in is off, so there are no recovery codes to make."],
] as const)("a form for what another tab has removed leads to the page without it, and says so: %s", async ([path, words], { server }) => {
  const { browser } = await server.signedInUser();
  const { html } = await security(browser);
  const body = new URLSearchParams({
    form_token: /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? "",
    passkey: "0198f2f2-0000-7000-8000-000000000000",
  });
  const page = await browser.follow(path, { method: "POST", body, headers: { origin: server.url } });
  expect([page.status, page.html.includes(words), page.html.includes("Where you are signed in")]).toEqual([404, true, true]);
});

describe("changing the password", () => {
  test("ends every other session and refresh family, and renews this browser's session", async ({ server }) => {
    const { email, browser, login } = await server.signedInUser();
    const other = await signIn(server, email, PASSWORD);
    const tokens = await server.tokens(server.clients.web, browser, { scope: "openid offline_access" });
    const before = browser.cookies.get("countersign") ?? "";
    const done = await changePassword(browser, NEW);
    expect([done.status, done.html.includes("Your password has been changed")]).toEqual([200, true]);
    expect(browser.cookies.get("countersign")).not.toBe(before);
    expect([await alive(browser), await alive(other.browser)]).toEqual([true, false]);
    const planted = aBrowser(server.url);
    planted.cookies.set("countersign", before);
    expect(await alive(planted)).toBe(false);
    for (const { refresh_token } of [login, other.tokens]) expect((await refresh(server, refresh_token)).status).toBe(400);
    expect((await server.refresh(server.clients.web, tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect([(await signIn(server, email, PASSWORD)).status, (await signIn(server, email, NEW)).status]).toEqual([401, 200]);
  });

  test("needs a fresh proof and no password: the session goes on with that proof, and the form returns to its page", async ({ server }) => {
    const { email, browser, id } = await server.signedInUser();
    const { sql } = server.database;
    await runText(sql, "delete from credentials where user_id = $1::uuid", [id]); // as of a user who has passkeys alone
    await runText(
      sql,
      "update sessions set proved_acr = 'phr', amr = '{hwk,user}', proved_at = now() - interval '4 minutes' where user_id = $1::uuid",
      [id],
    );
    expect((await changePassword(browser, NEW)).html).toContain("Your password has been changed");
    const kept =
      "select proved_acr, amr, now() - proved_at > interval '4 minutes' as old from sessions where user_id = $1::uuid and ended_at is null";
    expect(await runText(sql, kept, [id])).toEqual([{ proved_acr: "phr", amr: ["hwk", "user"], old: true }]);
    const form = await browser.follow("/account/security/password");
    await runText(sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
    const asked = await browser.submit(form, { password: PASSWORD });
    expect(asked.url).toBe(`${server.url}/login?again=yes&late=yes&next=%2Faccount%2Fsecurity%2Fpassword`);
    expect((await signIn(server, email, PASSWORD)).status).toBe(401);
    expect((await browser.submit(asked, { email, password: NEW })).url).toBe(`${server.url}/account/security/password`);
  });

  test.for(["short", "iloveyou", "x".repeat(129)])(
    "a new password %j is refused at its field, as at registration",
    async (password, { server }) => {
      const { email, browser } = await server.signedInUser();
      const page = await changePassword(browser, password);
      expect([page.status, page.html.includes('<a href="#password">')]).toEqual([400, true]);
      expect((await signIn(server, email, PASSWORD)).status).toBe(200);
    },
  );

  test("the user's own email address is refused as password", async ({ server }) => {
    const { email, browser } = await server.signedInUser();
    expect((await changePassword(browser, email)).status).toBe(400);
  });
});

describe("sessions of a user", () => {
  test("each session shows its browser and address, and the current one cannot be signed out from the list", async ({ server }) => {
    const { email } = await server.signedInUser();
    const { browser } = await signIn(server, email, PASSWORD);
    const { html, url } = await security(browser);
    expect(html).toContain("<bdi>Firefox on Linux</bdi>");
    expect(html).toContain("127.0.0.1");
    expect(html.match(/This device<\/span>/g)).toHaveLength(1);
    expect(formsOf(html, url).filter(({ fields }) => "session" in fields)).toHaveLength(1);
  });

  test("a User-Agent is shown shortened and escaped", async ({ server }) => {
    const { email, browser } = await server.signedInUser();
    await signIn(server, email, PASSWORD, `<script>alert(1)</script>/${"9".repeat(3000)} `);
    const { html } = await security(browser);
    expect(html).not.toContain("<script>");
    expect(html).not.toContain("9".repeat(50));
  });

  test("another session is signed out at once with its refresh token, and no third one is", async ({ server }) => {
    const { email, browser } = await server.signedInUser();
    const lost = await signIn(server, email, PASSWORD, FIREFOX);
    const kept = await signIn(server, email, PASSWORD, "curl/8.0 ");
    const page = await security(browser);
    const item = page.html.split("<li>").find((one) => one.includes("Firefox on Linux")) ?? "";
    const id = /name="session" value="([^"]+)"/.exec(item)?.[1] ?? "";
    const done = await browser.submit(page, { session: id });
    expect(done.html).toContain("The session has been signed out.");
    expect([await alive(lost.browser), await alive(kept.browser), await alive(browser)]).toEqual([false, true, true]);
    expect((await refresh(server, lost.tokens.refresh_token)).status).toBe(400);
    expect((await refresh(server, kept.tokens.refresh_token)).status).toBe(200);
    const again = await browser.submit(page, { session: id });
    expect([again.status, again.html.includes("The session has been signed out.")]).toEqual([200, true]);
  });

  test("another user's session returns the same page as an unknown one, and stays", async ({ server }) => {
    const [victim, stranger] = [await server.signedInUser(), await server.signedInUser()];
    await signIn(server, victim.email, PASSWORD);
    const id = /name="session" value="([^"]+)"/.exec((await security(victim.browser)).html)?.[1] ?? "";
    await signIn(server, stranger.email, PASSWORD);
    const page = await security(stranger.browser);
    const [foreign, unknown, none] = await Promise.all(
      [id, "01900000-0000-7000-8000-00000000dead", "x"].map((session) => stranger.browser.submit(page, { session })),
    );
    expect([foreign?.status, unknown?.status, none?.status]).toEqual([200, 200, 200]);
    expect(foreign?.html).toBe(unknown?.html);
    expect((await security(victim.browser)).html).toContain(id);
  });

  test("all other sessions are signed out together, and applications keep their access", async ({ server }) => {
    const { email, browser, login } = await server.signedInUser();
    const others = [await signIn(server, email, PASSWORD), await signIn(server, email, PASSWORD)];
    const tokens = await server.tokens(server.clients.web, browser, { scope: "openid offline_access" });
    const page = await security(browser);
    const form = formsOf(page.html, page.url).find(({ action }) => action.endsWith("/account/security/sessions/end-others"));
    const done = await browser.follow(form?.action ?? "", {
      method: "POST",
      body: new URLSearchParams(form?.fields),
      headers: { origin: server.url },
    });
    expect(done.html).toContain("All other sessions have been signed out.");
    for (const one of others) {
      expect(await alive(one.browser)).toBe(false);
      expect((await refresh(server, one.tokens.refresh_token)).status).toBe(400);
    }
    expect(await alive(browser)).toBe(true);
    expect((await refresh(server, login.refresh_token)).status).toBe(200);
    expect((await server.refresh(server.clients.web, tokens.refresh_token)).status).toBe(200);
    expect((await security(browser)).html).not.toContain("Sign out all others");
  });
});

describe("applications with access", () => {
  test("lastUsedAt of a consent follows its refresh tokens, at most once a minute", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { web } = server.clients;
    const tokens = await server.tokens(web, browser, { scope: "openid offline_access" });
    const { consents } = (await browser.json("/consents", undefined, "GET")).body;
    const age = async (set: string) => {
      await runText(server.database.sql, `update consents set last_used_at = ${set} where id = $1::uuid`, [consents[0].id]);
    };
    const lastUsed = async () => (await browser.json("/consents", undefined, "GET")).body.consents[0].lastUsedAt;
    await expect.poll(lastUsed).not.toBeNull(); // by the code
    await age("now() - interval '1 day'");
    const before = await lastUsed();
    const seal = async (): Promise<void> => {
      if ((await auditSealer(server.database.sql, undefined).seal()) > 0) await seal();
    };
    const renewed = await server.refresh(web, tokens.refresh_token);
    await seal();
    await expect.poll(async () => (await lastUsed()) - before).toBeGreaterThan(86_000_000);
    const after = await lastUsed();
    await server.refresh(web, renewed.body.refresh_token);
    await seal();
    expect(await lastUsed()).toBe(after);
  });
});

describe("the profile", () => {
  test("first and last name can be changed and removed, and ID tokens follow", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const named = await browser.submit(await browser.follow("/account"), { firstName: " Grace ", lastName: 'Ho"pper' });
    expect([named.status, named.html.includes("Your name has been saved."), named.html.includes('value="Ho&quot;pper"')]).toEqual([
      200,
      true,
      true,
    ]);
    const { id_token } = await server.tokens(server.clients.web, browser, { scope: "openid" });
    expect(JSON.parse(Buffer.from(id_token.split(".")[1], "base64url").toString()).name).toBe('Grace Ho"pper');
    const removed = await browser.submit(named, { firstName: "", lastName: "  " });
    expect(removed.html).not.toContain("Ho&quot;pper");
  });

  test.for(["a\u0007b", "\u202eknaB", "a\u2028b", "x".repeat(101)])(
    "a name of %j is refused at its field, and the input is kept",
    async (lastName, { server }) => {
      const { browser } = await server.signedInUser();
      const page = await browser.submit(await browser.follow("/account"), { firstName: "Ada", lastName });
      expect([page.status, page.html.includes('<a href="#lastName">'), page.html.includes('value="Ada"')]).toEqual([400, true, true]);
      expect((await browser.follow("/account")).html).not.toContain('value="Ada"');
      const signUp = await aBrowser(server.url).json("/auth/register", { email: "name@example.test", password: PASSWORD, lastName });
      expect(signUp.status).toBe(400);
    },
  );
});
