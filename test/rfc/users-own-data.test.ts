import { expect } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
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

test("the data of a user include every way in, and when applications were allowed", async ({ server }) => {
  const { id, browser } = await server.signedInUser();
  await server.tokens(server.clients.web, browser, { scope: "openid" });
  for (const [text, ...parameters] of [
    [
      `insert into identity_links (issuer, subject, user_id, email, confirmed, created_at) values
         ('https://id.example', 'ada', $1, 'ada@work.example', true, now() - interval '1 hour'), ('https://chat.example', 'u-7', $1, null, false, now())`,
      id,
    ],
    [
      `insert into passkeys (user_id, credential_id, public_key, counter, transports, backed_up, aaguid, name)
       values ($1, '\\x01', '\\x02', 0, '{}', true, '', 'My phone')`,
      id,
    ],
    ["insert into credentials (user_id, type, issuer, subject) values ($1, 'wallet', 'https://pid.example', 'subject-1')", id],
    ["insert into authenticator_apps (user_id, secret, confirmed_at) values ($1, 'sealed', now())", id],
  ] as const)
    await runText(server.database.sql, text, parameters);
  const since = expect.any(Number);
  expect((await browser.follow("/account/security")).html).not.toContain("chat.example"); // it is no way in
  const data = async () => (await browser.request("/account/data")).json();
  // The use of an application is noted when the record of its token is sealed.
  await expect.poll(async () => (await data()).applications).toMatchObject([{ allowedAt: since, lastUsedAt: since }]);
  expect(await data()).toMatchObject({
    identities: [
      { issuer: "https://id.example", subject: "ada", email: "ada@work.example", signsIn: true, linkedAt: since },
      { issuer: "https://chat.example", subject: "u-7", email: null, signsIn: false, linkedAt: since },
    ],
    passkeys: [{ name: "My phone", backedUp: true, createdAt: since, lastUsedAt: null }],
    authenticatorApp: { addedAt: since },
    wallet: { issuer: "https://pid.example", linkedAt: since },
  });
});

test("a user with thousands of consents finds all of them: in pages, in their data and by the API, newest first", async ({ server }) => {
  const { id, browser } = await server.signedInUser();
  await runText(
    server.database.sql,
    `insert into consents (id, user_id, client_id, client_name, scopes, resources)
     select (lpad(to_hex(n), 12, '0') || '70008000000000000000')::uuid, $1, 'many-' || n, 'Application ' || n, '{openid}', '{}' from generate_series(1, 2100) n`,
    [id],
  );
  const all = Array.from({ length: 2_100 }, (_, n) => `Application ${2_100 - n}`);
  const namesIn = (html: string) => [...html.matchAll(/<h3><bdi>(Application \d+)<\/bdi><\/h3>/g)].map(([, name]) => name);
  const first = await browser.follow("/account");
  expect(namesIn(first.html)).toEqual(all.slice(0, 50));
  const link = /href="([^"]*\/account\?after=[^"#]+)/.exec(first.html)?.[1] ?? expect.fail("no link to further applications");
  expect(namesIn((await browser.follow(link)).html)).toEqual(all.slice(50, 100));
  expect(namesIn((await browser.follow(`${link}&lang=de`)).html)).toEqual(all.slice(50, 100));
  const named = (consents: readonly { clientName: string }[]) => consents.map(({ clientName }) => clientName);
  expect(named((await browser.json("/consents/", undefined, "GET")).body.consents)).toEqual(all);
  expect(named((await (await browser.request("/account/data")).json()).applications)).toEqual(all);
  expect((await browser.follow("/account?after=nothing")).status).toBe(400);
});
