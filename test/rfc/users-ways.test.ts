import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser, type Browser, formsOf } from "../support/browser.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";
const PAGE = { accept: "text/html" };
const JOINED = /\/account\?done=joined\.[\w-]{43}$/;
const AGENTS = "?next=%2Faccount%2Fagents";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

let count = 0;
/** A browser with its own network address, and an unused email address. */
function newcomer() {
  const email = `way${++count}@example.test`;
  return { email, browser: aBrowser(server.url, { ...PAGE, "x-forwarded-for": `198.51.100.${count}` }) };
}

/** Follows a path by way of sign-in to sign-up. @returns the query that is carried along */
const toSignUp = async (browser: Browser, path: string) => {
  const login = await browser.follow(path);
  const { search } = new URL(login.url);
  expect(login.html).toContain(`href="/signup${search}"`);
  expect(login.html).toContain(`href="/forgot${search}"`);
  return { search, page: await browser.follow(`/signup${search}`) };
};

const linkTo = (email: string, mails = 1) => server.tokenFor(email, mails).then((token) => `/auth/verify?token=${token}`);
const hrefs = (html: string) => [...html.matchAll(/<a class="button[^"]*" href="([^"]*)"/g)].map(([, href]) => href);

describe("a user who signs up continues with the request or page that they came from", () => {
  test.for([
    ["an application's request", authorizePath(), "/consent?request="],
    ["a page of the account", "/account/agents", "/account/agents"],
  ] as const)("%s: at once after sign-up, and also by the link of the mail", async ([, path, end]) => {
    const { email, browser } = newcomer();
    const { search, page } = await toSignUp(browser, path);
    const there = await browser.submit(page, { email, password: PASSWORD });
    expect(there.url.startsWith(server.url + end)).toBe(true);
    const verified = await browser.follow(await linkTo(email));
    expect(hrefs(verified.html)).toEqual([`/login${search}`]);
    expect((await browser.follow(`/login${search}`)).url.startsWith(server.url + end)).toBe(true);
  });

  test("an application gets a code after one sign-up form and one consent form", async () => {
    const { email, browser } = newcomer();
    const consent = await browser.submit((await toSignUp(browser, authorizePath())).page, { email, password: PASSWORD });
    expect(new URL((await browser.submit(consent, { decision: "approve" })).url).searchParams.has("code")).toBe(true);
  });

  test("another browser, as on a telephone, can open the link and continues with the account page", async () => {
    const { email, browser } = newcomer();
    await browser.submit((await toSignUp(browser, authorizePath())).page, { email, password: PASSWORD });
    const telephone = aBrowser(server.url, PAGE);
    const verified = await telephone.follow(await linkTo(email));
    expect([verified.status, hrefs(verified.html)]).toEqual([200, ["/account"]]);
    const login = await telephone.follow("/account");
    expect(login.url).toBe(`${server.url}/login`);
    expect((await telephone.submit(login, { email, password: PASSWORD })).url).toBe(`${server.url}/account`);
  });

  test("a pending request is kept for an hour after sign-up, and the link does not lead to one that was answered", async () => {
    const { email, browser } = newcomer();
    const { page } = await toSignUp(browser, authorizePath());
    const left = async () => {
      const rows = await server.database.sql.query<{ left: number }>(
        {
          name: "left_to_wait",
          text: "select extract(epoch from expires_at - created_at)::int as left from pending_requests order by created_at desc limit 1",
        },
        [],
      );
      return rows[0]?.left;
    };
    expect(await left()).toBe(600);
    const consent = await browser.submit(page, { email, password: PASSWORD });
    expect(await left()).toBe(3600);
    await browser.submit(consent, { decision: "approve" });
    expect(hrefs((await browser.follow(await linkTo(email))).html)).toEqual(["/account"]);
  });

  test("requesting another mail after an invalid link keeps the page", async () => {
    const { email, browser } = newcomer();
    await browser.submit((await toSignUp(browser, "/account/agents")).page, { email, password: PASSWORD });
    const stale = await browser.follow(`/auth/verify?token=${"0".repeat(64)}`);
    const again = await browser.submit(stale, { email });
    expect(again.url).toMatch(/\/signup\/sent\?done=again\.[\w-]{43}&next=%2Faccount%2Fagents$/);
    expect(again.html).toContain(`If ${email} still has to be confirmed, a new message with a link is on its way there.`);
    expect(hrefs((await browser.follow(await linkTo(email, 2))).html)).toEqual([`/login${AGENTS}`]);
  });

  test.for(["https://evil.example/", "//evil.example", "/logout", "/account/agents/../../logout"])("next=%j is ignored", async (next) => {
    const { email, browser } = newcomer();
    const page = await browser.follow(`/signup?next=${encodeURIComponent(next)}`);
    expect((await browser.submit(page, { email, password: PASSWORD, next })).url).toMatch(JOINED);
    browser.cookies.set("countersign-pending", new URLSearchParams({ email, next }).toString());
    expect(hrefs((await browser.follow(await linkTo(email))).html)).toEqual(["/account"]);
  });

  test.for(["%", "next=%2Faccount%2Fagents&next=%2Faccount%2Fagents", "request=unknown", "x".repeat(3000)])(
    "a malformed countersign-pending cookie %j is ignored",
    async (said) => {
      const { email, browser } = newcomer();
      await browser.submit(await browser.follow("/signup"), { email, password: PASSWORD });
      browser.cookies.set("countersign-pending", said);
      expect((await browser.follow("/signup/sent")).url).toBe(`${server.url}/account`);
      const verified = await browser.follow(await linkTo(email));
      expect([verified.status, hrefs(verified.html)]).toEqual([200, ["/account"]]);
    },
  );
});

describe("a repeated sign-up", () => {
  test("is not sent by reloading the page after it: one mail is sent", async () => {
    const { email, browser } = newcomer();
    const form = formsOf((await browser.follow("/signup")).html, server.url).find(({ fields }) => "password" in fields);
    const body = new URLSearchParams({ ...form?.fields, email, password: PASSWORD });
    const response = await browser.request("/signup", { method: "POST", body, headers: { origin: server.url } });
    expect([response.status, response.headers.get("location")]).toEqual([303, expect.stringMatching(JOINED)]);
    for (let load = 0; load < 3; load++) expect((await browser.follow("/signup/sent")).html).toContain(email);
    expect(await server.mailsTo(email, 1)).toHaveLength(1);
  });

  test("the countersign-pending cookie contains the address and is deleted at sign-in", async () => {
    const { email, browser } = newcomer();
    await browser.submit(await browser.follow("/signup"), { email, password: PASSWORD });
    expect(browser.cookies.get("countersign-pending")).toBe(`email=${encodeURIComponent(email)}`);
    browser.cookies.delete("countersign");
    await browser.submit(await browser.follow("/login"), { email, password: PASSWORD });
    expect(browser.cookies.has("countersign-pending")).toBe(false);
  });

  test("sent several times at once, as by a double click, returns the same page for one account and one mail", async () => {
    const { email, browser } = newcomer();
    const page = await browser.follow("/signup");
    const twice = await Promise.all([1, 2, 3].map(() => browser.submit(page, { email, password: PASSWORD })));
    for (const { status, url } of twice) expect([status, url]).toEqual([200, expect.stringMatching(JOINED)]);
    expect(await server.mailsTo(email, 1)).toHaveLength(1);
    expect((await browser.submit(page, { email, password: "another horse battery" })).status).toBe(409);
  });

  test("35 s later returns 409, also with the same password", async () => {
    const { email, browser } = newcomer();
    const page = await browser.follow("/signup");
    await browser.submit(page, { email, password: PASSWORD });
    const age = { name: "age_users", text: "update users set created_at = created_at - interval '35 seconds' where email = $1" };
    await server.database.sql.query(age, [email]);
    expect((await browser.submit(page, { email, password: PASSWORD })).status).toBe(409);
  });
});

describe("a user who resets a forgotten password continues with", () => {
  test.for([
    ["an application's request", authorizePath(), "/consent?request="],
    ["a page of the account", "/account/agents", "/account/agents"],
  ] as const)("%s", async ([, path, end]) => {
    const { email, browser } = newcomer();
    await browser.json("/auth/register", { email, password: PASSWORD });
    const { search } = new URL((await browser.follow(path)).url);
    const sent = await browser.submit(await browser.follow(`/forgot${search}`), { email });
    expect(new URL(sent.url).pathname).toBe("/forgot/sent");
    expect(hrefs(sent.html)).toEqual([`/login${search}`]);
    await browser.follow(sent.url);
    const stale = await browser.follow("/reset?token=unknown");
    expect(hrefs(stale.html)).toEqual([`/forgot${search}`]);
    expect(stale.html).toContain(`href="/login${search}"`);
    const token = await server.resetTokenFor(email, 2);
    expect(await server.mailsTo(email, 2)).toHaveLength(2);
    const changed = await browser.submit(await browser.follow(`/reset?token=${token}`), { password: "a brand new battery" });
    expect(hrefs(changed.html)).toEqual([`/login${search}`]);
    const there = await browser.submit(await browser.follow(`/login${search}`), { email, password: "a brand new battery" });
    expect(there.url.startsWith(server.url + end)).toBe(true);
  });

  test("both of an application's requests in two tabs: the link leads to the later one, and each gets its code", async () => {
    const { email, browser } = newcomer();
    await browser.json("/auth/register", { email, password: PASSWORD });
    const searches: string[] = [];
    const forgot = async (state: string) => {
      const { search } = new URL((await browser.follow(authorizePath({ state }))).url);
      searches.push(search);
      await browser.submit(await browser.follow(`/forgot${search}`), { email });
    };
    await forgot("one");
    const earlier = await server.resetTokenFor(email, 2);
    await forgot("two");
    const links = (await server.mailsTo(email, 3)).join("\n").matchAll(/\/reset\?token=([0-9a-f]{64})/g);
    const [token] = [...links].flatMap(([, each]) => (each === earlier ? [] : [each]));
    const changed = await browser.submit(await browser.follow(`/reset?token=${token}`), { password: "a brand new battery" });
    expect(hrefs(changed.html)).toEqual([`/login${searches[1]}`]);
    const consent = await browser.submit(await browser.follow(`/login${searches[1]}`), { email, password: "a brand new battery" });
    const ends = [await browser.submit(consent, { decision: "approve" }), await browser.follow(`/login${searches[0]}`)];
    expect(ends.map(({ url }) => [new URL(url).searchParams.get("state"), url.includes("code=")])).toEqual([
      ["two", true],
      ["one", true],
    ]);
  });
});
