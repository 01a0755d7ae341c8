import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pageRoutes } from "../../src/front/pages/routes.ts";
import { siteOf } from "../../src/front/pages/views/layout.ts";
import { aBrowser } from "../support/browser.ts";
import { aBrandings } from "../support/builders.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

/** Every page with its methods, read from the routes so that new pages are included; files are no pages. */
const routes = pageRoutes({ ports: {}, site: siteOf("http://localhost", aBrandings()) } as Parameters<typeof pageRoutes>[0])
  .map(({ method, path }) => [method, String(path)] as const)
  .filter(([, path]) => !path.startsWith("/assets/") && path !== "/account/data");

let count = 0;
async function signedIn() {
  const email = `h${++count}@example.test`;
  const browser = aBrowser(server.url, { accept: "text/html" });
  await browser.json("/auth/register", { email, password: PASSWORD });
  await browser.json("/auth/login", { email, password: PASSWORD });
  return browser;
}

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'";

/** Pages with passkeys have a script more, which asks this server for challenges. */
const PASSKEY_SCRIPT = /<script type="module" src="\/assets\/passkey\.[0-9a-f]{16}\.js"><\/script>/;

function expectGuarded(headers: Headers, html = ""): void {
  expect(headers.get("content-security-policy")).toBe(PASSKEY_SCRIPT.test(html) ? `${POLICY}; connect-src 'self'` : POLICY);
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("access-control-allow-origin")).toBeNull();
}

/** Expects no inline script or style and no address of another origin. */
function expectPlain(html: string): void {
  expect(html).not.toMatch(
    /<script(?! type="module" src="\/assets\/(?:page|passkey)\.[0-9a-f]{16}\.js"><\/script>)|<style|<iframe|<base\b|<object/i,
  );
  const tags = [...html.matchAll(/<[a-z][^<>]*>/gi)].map(([tag]) => tag.replaceAll(/"[^"]*"/g, '""'));
  expect(tags.filter((tag) => /\s(?:on\w+|style)\s*=|=[^"]/i.test(tag))).toEqual([]);
  for (const [, address = ""] of html.matchAll(/(?:src|href|action)="([^"]*)"/g)) expect(address).toMatch(/^[/#](?!\/)/);
}

async function expectGuardedPage(response: Response): Promise<void> {
  if (response.status >= 300 && response.status < 400) {
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    return expect(await response.text()).toBe("");
  }
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const html = await response.text();
  expectGuarded(response.headers, html);
  expectPlain(html);
}

describe("row 11 and section 2: security headers of every page", () => {
  test("a wrong password is answered by the page with the challenge that every 401 has", async () => {
    const browser = aBrowser(server.url, { accept: "text/html" });
    const { headers, status } = await browser.submit(await browser.follow("/login"), { email: "x@example.test", password: "wrong wrong" });
    expect([status, headers.get("www-authenticate")]).toEqual([401, "Session"]);
  });

  test.for(routes)("are sent by %s %s, signed in or not", async ([method, path]) => {
    const bodies = method === "GET" ? [undefined] : ["form_token=x", "a=b&a=c", "%ff"];
    for (const browser of [await signedIn(), aBrowser(server.url)]) {
      for (const body of bodies) {
        const headers = body === undefined ? undefined : { "content-type": "application/x-www-form-urlencoded" };
        const response = await browser.request(path, { method, ...(body !== undefined && { body }), ...(headers && { headers }) });
        expect(response.status).toBeLessThan(500);
        await expectGuardedPage(response);
      }
      await expectGuardedPage(await browser.request(path, { method: "PUT", body: "" }));
    }
  });

  test.for([
    ["consent", authorizePath(), 200],
    ["sign-in for an application", authorizePath({ prompt: "login" }), 200],
    ["a request that has expired", "/consent?request=x", 400],
    ["an invalid verification link", "/auth/verify?token=x", 400],
    ["an invalid sign-out request of an application", "/logout?id_token_hint=x", 400],
    ["an unknown path", "/nowhere", 404],
  ] as const)("are sent by the page of %s", async ([, path, status]) => {
    const page = await (await signedIn()).follow(path);
    expect(page.status).toBe(status);
    expectGuarded(page.headers, page.html);
    expectPlain(page.html);
  });

  test("are sent by a page with a form error", async () => {
    const browser = aBrowser(server.url);
    const page = await browser.submit(await browser.follow("/login"), { email: "unknown@example.test", password: "wrong" });
    expect(page.status).toBe(401);
    expectGuarded(page.headers, page.html);
    expectPlain(page.html);
  });
});

describe("row 15: input of users and names of clients are escaped", () => {
  const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>'&`;
  const names = { firstName: HOSTILE, lastName: "\u2067\u202e" };

  test("in a refused sign-up, the account, a failed sign-in and the query", async () => {
    const browser = aBrowser(server.url, { accept: "text/html" });
    const refused = await browser.submit(await browser.follow("/signup"), { email: HOSTILE, password: PASSWORD, ...names });
    expect(refused.status).toBe(400);
    const failed = await browser.submit(await browser.follow("/login"), { email: HOSTILE, password: PASSWORD });
    expect(failed.html).toContain("&quot;&gt;&lt;script&gt;");
    const email = "hostile@example.test";
    await browser.json("/auth/register", { email, password: PASSWORD, firstName: HOSTILE.slice(0, 60) });
    await browser.json("/auth/login", { email, password: PASSWORD });
    const account = await browser.follow(`/account?done=${encodeURIComponent(HOSTILE)}`);
    expect(account.status).toBe(200);
    const query = new URLSearchParams({ request: HOSTILE, token: HOSTILE, state: HOSTILE });
    const asked = await Promise.all(
      ["/login", "/signup", "/consent", "/auth/verify"].map((path) => aBrowser(server.url).follow(`${path}?${query}`)),
    );
    for (const { html } of [refused, failed, account, ...asked]) expectPlain(html);
  });

  test("in a client's name on the sign-in and consent pages", async () => {
    const members = { client_id: await server.registerDeceiver(), redirect_uri: "https://xn--pple-43d.example/cb", scope: "openid" };
    const pages = [await aBrowser(server.url).follow(authorizePath(members)), await (await signedIn()).follow(authorizePath(members))];
    for (const { html } of pages) {
      expect(html).toContain("xn--pple-43d.example");
      expect(html).not.toMatch(/[\p{Bidi_Control}\u200b-\u200d]/u);
      expect(html).not.toContain("\u0007");
      expectPlain(html);
    }
  });
});
