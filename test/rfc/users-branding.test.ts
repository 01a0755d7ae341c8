import type { AdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminAs, refusedWith } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";

const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>';
const base64 = (text: string) => Buffer.from(text).toString("base64");
const PASSWORD = "correct horse battery";

let server: TestServer;
let operator: AdminClient;
let realm: string;
beforeAll(async () => {
  server = await startServer({
    env: {
      BRAND_NAME: "Acme & Sons",
      BRAND_ACCENT: "#B3005E",
      BRAND_SUPPORT: "help@acme.test",
      BRAND_TERMS_URL: "https://acme.test/terms",
    },
    provision: {
      users: [{ ...OPERATOR, role: "operator" }],
      realms: [{ name: "guests", branding: { name: "Guests of Acme", logo: base64(LOGO) } }],
      clients: [
        {
          ...{ clientId: "television", name: "Television", tokenEndpointAuthMethod: "none", scopes: ["openid"] },
          ...{ environment: "production", grantTypes: ["urn:ietf:params:oauth:grant-type:device_code"] },
        },
      ],
    },
  });
  operator = (await adminAs(server.url, OPERATOR)).admin;
  const { realms } = await operator.operator.realms.list.query();
  realm = realms.find(({ name }) => name === "guests")?.id ?? "";
});
afterAll(() => server.close());

const anonymous = (language = "en") => aBrowser(server.url, { accept: "text/html", "accept-language": language });

async function guest() {
  const browser = anonymous();
  const credentials = { email: "guest@example.test", password: PASSWORD };
  await browser.json("/auth/register", { ...credentials, realmId: realm });
  await browser.json("/auth/login", credentials);
  return browser;
}

describe("the branding of the deployment", () => {
  test("names pages, and links terms and support", async () => {
    for (const path of ["/login", "/nowhere", "/"]) {
      const { html } = await anonymous("de").follow(path);
      expect(html).toContain("· Acme &amp; Sons</title>");
      expect(html).toContain('<a href="https://acme.test/terms">Nutzungsbedingungen</a>');
      expect(html).toContain('<a href="mailto:help@acme.test">Hilfe</a>');
      expect(html).not.toContain("Countersign");
    }
  });

  test("colours pages by a style sheet under the same content security policy", async () => {
    const page = await anonymous().follow("/login");
    expect(page.headers.get("content-security-policy")).toContain("style-src 'self';");
    const [, path = ""] = /<link rel="stylesheet" href="(\/assets\/brand\/[0-9a-f]{16}\.[0-9a-f]{16}\.css)">/.exec(page.html) ?? [];
    const style = await fetch(server.url + path);
    expect([style.status, style.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
    expect(await style.text()).toContain("--accent:#b3005e");
  });
});

describe("the branding of a realm", () => {
  test("is on the pages of its users, over that of the deployment, and its logo is served inert", async () => {
    const { html } = await (await guest()).follow("/account");
    expect(html).toContain("· Guests of Acme</title>");
    expect(html).toContain("https://acme.test/terms");
    const [, path = ""] = /<img src="(\/assets\/brand\/[0-9a-f]{16}\.[0-9a-f]{16}\.svg)"/.exec(html) ?? [];
    const logo = await fetch(server.url + path);
    expect([await logo.text(), logo.headers.get("content-type"), logo.headers.get("x-content-type-options")]).toEqual([
      LOGO,
      "image/svg+xml",
      "nosniff",
    ]);
    expect(logo.headers.get("content-security-policy")).toBe("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    for (const name of ["0000000000000000.svg", "0000000000000000.0000000000000000.svg"])
      expect((await fetch(`${server.url}/assets/brand/${name}`)).status).toBe(404);
  });

  test("is on the pages on which its users connect a device, with a wrong code and at the end too", async () => {
    const browser = await guest();
    const page = await browser.follow("/device");
    const wrong = await browser.submit(page, { user_code: "BCDF" });
    const body = new URLSearchParams({ client_id: "television", scope: "openid" });
    const begun = await fetch(`${server.url}/oauth/device_authorization`, { method: "POST", body });
    const asked = await browser.submit(wrong, { user_code: (await begun.json()).user_code });
    const denied = await browser.submit(asked, { decision: "deny" });
    for (const { html } of [page, wrong, asked, denied]) expect(html).toContain("· Guests of Acme</title>");
    expect(new URL(denied.url).pathname).toBe("/device/done");
  });

  test("names the passkeys of its users", async () => {
    const browser = await guest();
    const { html } = await browser.follow("/account/security");
    const form_token = /name="form_token" value="([^"]*)"/.exec(html)?.[1] ?? "";
    const options = await browser.follow("/account/security/passkeys/options", {
      method: "POST",
      body: new URLSearchParams({ form_token }),
      headers: { origin: server.url },
    });
    expect(JSON.parse(options.html).rp).toEqual({ name: "Guests of Acme", id: "localhost" });
  });

  test("is that of the mails about a lost password and the end of the account, also where no user is signed in", async () => {
    const { users } = operator.operator;
    const email = "gone@example.test";
    await anonymous().json("/auth/register", { email, password: PASSWORD, realmId: realm });
    const [user] = (await users.list.query({ search: email })).users;
    const mailed = (words: string) => expect.poll(() => server.mailTo(email) ?? "").toMatch(new RegExp(`${words}[^]*Guests of Acme`));
    await anonymous().json("/auth/forgot-password", { email });
    await mailed("/reset");
    await users.delete.mutate({ id: user?.id ?? "" });
    await mailed("deleted");
  });

  test("is changed by operators at once, member by member, and leaves a record", async () => {
    const browser = anonymous();
    await browser.json("/auth/login", { email: "guest@example.test", password: PASSWORD });
    const change = (branding: Parameters<typeof operator.operator.realms.setBranding.mutate>[0]["branding"]) =>
      operator.operator.realms.setBranding.mutate({ id: realm, branding });
    expect(await change({ name: null, accent: "#00695C" })).toEqual({ accent: "#00695c", logo: "image/svg+xml" });
    const { html } = await browser.follow("/account");
    expect(html).toContain("· Acme &amp; Sons</title>");
    expect(await change({ logo: null })).toEqual({ accent: "#00695c", logo: null });
    const { id: plain } = await operator.operator.realms.create.mutate({ name: "plain" });
    await operator.operator.realms.setBranding.mutate({ id: plain, branding: { name: null } }); // it has none to lose
    const { records } = await operator.operator.audit.list.query({ event: "realm.changed", limit: 5 });
    expect(records.filter(({ reason }) => reason === "branding")).toHaveLength(2);
  });

  test.for([
    ["a logo that is a script", { logo: base64("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>") }, "<script>"],
    ["a colour without contrast", { accent: "#ffff00" }, "to 1 on light pages"],
    ["a page that is a script", { termsUrl: "javascript:alert(1)" }, "URL"],
    ["a name with invisible characters", { name: "Acme\u202e" }, "invisible"],
  ] as const)("%s is refused, with the reason", async ([, branding, words]) => {
    const refused = await refusedWith(operator.operator.realms.setBranding.mutate({ id: realm, branding }));
    expect(refused).toMatchObject({ error: "invalid_request", issues: [{ message: expect.stringContaining(words) }] });
  });

  test("is set by operators only", async () => {
    const { admin } = await adminAs(server.url, { email: "guest@example.test", password: PASSWORD });
    const change = { id: realm, branding: { name: "Mine" } };
    expect(await refusedWith(admin.operator.realms.setBranding.mutate(change))).toMatchObject({ error: "forbidden" });
    const unknown = { ...change, id: "01900000-0000-7000-8000-000000000009" };
    expect(await refusedWith(operator.operator.realms.setBranding.mutate(unknown))).toMatchObject({ error: "not_found" });
  });
});
