import { expect } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { test } from "../support/server.ts";

test("a user downloads their data, without secrets; without a session the page leads to sign-in", async ({ server }) => {
  const { email, browser } = await server.signedInUser();
  await server.tokens(server.clients.web, browser, { scope: "openid notes:read" });
  expect((await browser.follow("/account")).html).toContain('href="/account/data"');
  const response = await browser.request("/account/data");
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="account.json"');
  expect(response.headers.get("cache-control")).toContain("no-store");
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({
    profile: { email, emailVerified: true },
    applications: [{ clientId: "web", scopes: ["openid", "notes:read"] }],
    sessions: [{ address: expect.any(String), signedInAt: expect.any(Number) }],
    clients: [],
  });
  expect(text).not.toMatch(/argon2|hash|secret/i);
  expect((await aBrowser(server.url).follow("/account/data")).url).toContain("/login");
});
