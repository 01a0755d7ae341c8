import { expect } from "vitest";
import { rawExchange } from "../support/raw.ts";
import { describe, type TestServer, test } from "../support/server.ts";

const registered = "https://app.example.test/cb";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** Sends an authorization request with exactly this redirect URI, percent-encoded. */
const authorize = (server: TestServer, clientId: string, redirectUri: string, headers: Record<string, string> = {}) => {
  const query = `response_type=code&client_id=${clientId}&code_challenge=${CHALLENGE}&code_challenge_method=S256&state=s`;
  return server.get(`/oauth/authorize?${query}&redirect_uri=${encodeURIComponent(redirectUri)}`, headers);
};

const BROWSER = { accept: "text/html" };

describe("redirect URIs at the authorization endpoint", () => {
  test.for([
    [1, `${registered}/`],
    [1, `${registered}?x=1`],
    [1, `${registered}#f`],
    [1, "https://APP.example.test/cb"],
    [1, "HTTPS://app.example.test/cb"],
    [1, "https://app.example.test:443/cb"],
    [1, `${registered} `],
    [1, `${registered}\t`],
    [2, "https://app.example.test.evil.test/cb"],
    [2, "https://app.example.test@evil.test/cb"],
    [2, "https://evil.test#@app.example.test/cb"],
    [2, "https://app.example.test\\@evil.test/cb"],
    [3, "https://app.example.test/cb/..;/x"],
    [3, "https://app.example.test/cb/%2e%2e/x"],
    [3, "https://app.example.test/x/../cb"],
    [3, "https://app.example.test/./cb"],
    [3, "https://app.example.test//cb"],
    [5, "javascript:alert(1)"],
    [5, "data:text/html,x"],
  ] as const)(
    "abuse %i: redirect URI %s returns 400 without a redirect, as JSON or as a page for a browser",
    async ([, redirectUri], { server }) => {
      const answer = await authorize(server, "web", redirectUri);
      expect([answer.status, answer.headers.get("location"), answer.body.error]).toEqual([400, null, "invalid_request"]);
      const page = await authorize(server, "web", redirectUri, BROWSER);
      expect([page.status, page.headers.get("location"), page.headers.get("content-type")]).toEqual([
        400,
        null,
        "text/html; charset=utf-8",
      ]);
    },
  );

  test.for([
    ["http://127.0.0.1/cb", 302],
    ["http://127.0.0.1:51234/cb", 302],
    ["http://localhost:51234/cb", 400],
    ["http://127.0.0.2:51234/cb", 400],
    ["http://127.1:51234/cb", 400],
    ["http://[::1]:51234/cb", 400],
    ["https://127.0.0.1:51234/cb", 400],
    ["http://127.0.0.1:51234/cb/", 400],
    ["http://127.0.0.1:51234@evil.test/cb", 400],
    ["http://127.0.0.1:0x50/cb", 400],
    ["http://127.0.0.1:99999/cb", 400],
  ] as const)("abuse 4: redirect URI %s of a client registered for 127.0.0.1 returns %i", async ([redirectUri, status], { server }) => {
    const answer = await authorize(server, "public-app", redirectUri);
    expect([redirectUri, answer.status]).toEqual([redirectUri, status]);
    if (status === 302) expect(answer.headers.get("location")).toMatch(/^\/login\?request=/);
  });

  test("abuse 5: registration rejects javascript:, data: and malformed redirect URIs, and drops them beside a valid one", async ({
    server,
  }) => {
    for (const uri of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      " https://a.test/cb",
      "\u0001https://a.test/cb",
      "data:text/html,x",
      "java\nscript:x",
    ]) {
      const response = await fetch(`${server.url}/oauth/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ redirect_uris: [uri] }),
      });
      expect([uri, response.status, (await response.json()) as object]).toMatchObject([uri, 400, { error: "invalid_redirect_uri" }]);
      const beside = await fetch(`${server.url}/oauth/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ redirect_uris: ["https://a.example.test/cb", uri] }),
      });
      expect([uri, beside.status, (await beside.json()) as object]).toMatchObject([
        uri,
        201,
        { redirect_uris: ["https://a.example.test/cb"] },
      ]);
    }
  });

  test("abuse 6: an unknown client or a missing redirect_uri returns 400 without a redirect", async ({ server }) => {
    const foreign = await authorize(server, "unknown", "https://evil.test/cb");
    expect([foreign.status, foreign.headers.get("location"), foreign.body.error]).toEqual([400, null, "invalid_client"]);
    const missing = await server.get(
      `/oauth/authorize?response_type=code&client_id=web&code_challenge=${CHALLENGE}&code_challenge_method=S256`,
    );
    expect([missing.status, missing.headers.get("location"), missing.body.error]).toEqual([400, null, "invalid_request"]);
  });
});

describe("abuse 11: security headers", () => {
  const POLICY = [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "script-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  const assertHeaders = (headers: Headers, page: boolean) => {
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("access-control-allow-origin")).toBeNull();
    if (!page) return;
    for (const part of POLICY) expect(headers.get("content-security-policy")).toContain(part);
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  };

  test("pages, redirects and errors of authorize, sign-in, consent and sign-out are neither cached nor framed nor readable across origins", async ({
    server,
  }) => {
    const { browser } = await server.signedInUser();
    for (const path of ["/login", "/signup"]) assertHeaders((await server.get(path)).headers, true);
    for (const path of ["/account", "/logout"]) assertHeaders((await browser.follow(path)).headers, true);
    const query = server.authorizeUrl(server.clients.web, { code_challenge: CHALLENGE });
    const redirect = await browser.request(query);
    expect(redirect.status).toBe(302);
    assertHeaders(redirect.headers, false);
    expect(redirect.headers.get("referrer-policy")).toBe("no-referrer");
    assertHeaders((await browser.follow(query)).headers, true);
    assertHeaders((await authorize(server, "web", "https://evil.test/")).headers, false);
    assertHeaders((await authorize(server, "web", "https://evil.test/", BROWSER)).headers, true);
    assertHeaders((await browser.follow("/consent?request=unknown")).headers, true);
    const foreign = await browser.request("/login", { method: "POST", body: new URLSearchParams({ email: "a@b.test", password: "x" }) });
    expect(foreign.status).toBe(403);
    assertHeaders(foreign.headers, true);
  });

  test("pages and the files that they load refer to no other origin", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const consent = await browser.follow(server.authorizeUrl(server.clients.web, { code_challenge: CHALLENGE, scope: "openid" }));
    expect(consent.html).toContain('name="decision"');
    const visits = await Promise.all(
      ["/login", "/signup", "/account", "/logout", "/docs", "/consent?request=x"].map((path) => browser.follow(path)),
    );
    const todo = [consent, ...visits].map(({ html, url }) => [url, html] as const);
    const seen = new Set<string>();
    for (const [url, text] of todo) {
      // Attributes and CSS that make a browser load something. Plain links match as well, and none of them leads to another origin.
      const named = [...text.matchAll(/(?:src|href|action|srcset|poster|data)="([^"]*)"|url\(([^)]*)\)|@import\s+["']([^"']+)/g)];
      for (const [, attribute, inStyle, imported] of named) {
        const target = new URL((attribute ?? inStyle ?? imported ?? "").replaceAll(/["']/g, ""), url);
        if (target.protocol === "data:") continue;
        expect([url, target.origin]).toEqual([url, new URL(server.url).origin]);
        if (!/\.(?:css|svg|js|png)$/.test(target.pathname) || seen.has(target.href)) continue;
        seen.add(target.href);
        todo.push([target.href, await (await browser.request(target.href)).text()]);
      }
    }
    expect(seen.size).toBeGreaterThan(2);
  });
});

describe("abuse 16: forged Host, X-Forwarded-* and Forwarded headers", () => {
  test("do not change metadata, redirects or links in mails", async ({ server }) => {
    const forgedHeaders = [
      ["Host", "evil.test"],
      ["X-Forwarded-Host", "evil.test"],
      ["X-Forwarded-Proto", "https"],
      ["Forwarded", "host=evil.test;proto=https"],
    ] as const;
    for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/openapi.json", "/", "/docs"]) {
      const { status, text } = await rawExchange(server.url, { method: "GET", target: path, headers: forgedHeaders });
      expect([path, status, text.includes("evil.test")]).toEqual([path, 200, false]);
    }
    const away = await rawExchange(server.url, { method: "GET", target: "/account", headers: forgedHeaders });
    expect([away.status, away.headers.get("location")]).toEqual([302, "/login"]);
    const email = "abuse16@example.test";
    const body = JSON.stringify({ email, password: "correct horse battery staple" });
    const made = await rawExchange(server.url, {
      method: "POST",
      target: "http://evil.test/auth/register",
      headers: [...forgedHeaders, ["Content-Type", "application/json"]],
      body,
    });
    expect(made.status).toBe(201);
    const answer = await server.get(`/auth/verify?token=${await server.verificationToken(email)}`);
    expect(answer.status).toBe(200);
    expect(server.mailTo(email)).not.toContain("evil.test");
  });
});
