import { describe, expect } from "vitest";
import { entities } from "../../src/store/tables/entities.ts";
import { aBrowser, type Browser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { type TestServer, test, testOn } from "../support/server.ts";

const close = async (browser: Browser) => browser.submit(await browser.follow("/account/delete"), {});
const bearer = (token: string) => ({ authorization: `Bearer ${token}`, "content-type": "application/json" });

async function ownClient(server: TestServer, accessToken: string) {
  const request = (path: string, body: object) =>
    fetch(`${server.url}${path}`, { method: "POST", headers: bearer(accessToken), body: JSON.stringify(body) }).then((answer) =>
      answer.json(),
    );
  const scopes = ["openid", "notes:read"];
  const redirectUris = ["https://app.example.test/cb"];
  const client = await request("/api/clients/", {
    name: "My own tool",
    scopes,
    redirectUris,
    grantTypes: ["authorization_code", "client_credentials"],
  });
  const { key } = await request(`/api/clients/${client.id}/api-keys`, { name: "k" });
  return { client, key };
}

describe("deleting an account", () => {
  test("the page explains the consequences and names the user's own applications", async ({ server }) => {
    const { browser, login } = await server.signedInUser();
    await ownClient(server, login.access_token);
    const { html } = await browser.follow("/account/delete");
    for (const words of ["cannot be undone", "audit log stays", "My own tool"]) expect(html).toContain(words);
  });

  test("needs a fresh proof, without which the form deletes nothing", async ({ server }) => {
    const { browser, email, id } = await server.signedInUser();
    const form = await browser.follow("/account/delete");
    await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
    for (const page of [await browser.follow("/account/delete"), await browser.submit(form, {})])
      expect(page.url).toBe(`${server.url}/login?again=yes&next=%2Faccount%2Fdelete`);
    const back = await browser.submit(await browser.follow("/account/delete"), { email, password: PASSWORD });
    expect([back.url, back.html.includes("This cannot be undone.")]).toEqual([`${server.url}/account/delete`, true]);
    expect((await browser.follow("/account/deleted")).url).toBe(`${server.url}/account`);
  });

  test("names the account, also where the fresh proof was that of another user", async ({ server }) => {
    const [{ browser, id }, other] = [await server.signedInUser(), await server.signedInUser()];
    await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
    const page = await browser.submit(await browser.follow("/account/delete"), { email: other.email, password: PASSWORD });
    expect([page.url, page.html.includes(`<strong>${other.email}</strong>`)]).toEqual([`${server.url}/account/delete`, true]);
  });

  test("every token of the user is refused afterwards, at every endpoint", async ({ server }) => {
    const { email, browser, login } = await server.signedInUser();
    const tokens = await server.tokens(server.clients.web, browser, { scope: "openid email offline_access" });
    expect((await server.introspect(server.clients.web, tokens.access_token)).body.active).toBe(true);
    const done = await close(browser);
    expect([new URL(done.url).pathname, done.html.includes("Your account has been deleted")]).toEqual(["/account/deleted", true]);
    expect(browser.cookies.has("countersign")).toBe(false);
    expect((await server.introspect(server.clients.web, tokens.access_token)).body).toEqual({ active: false });
    expect((await server.userinfo(tokens.access_token)).status).toBe(401);
    expect((await server.refresh(server.clients.web, tokens.refresh_token)).body).toMatchObject({ error: "invalid_grant" });
    expect((await server.get("/api/clients/", bearer(login.access_token))).status).toBe(401);
    expect((await aBrowser(server.url).json("/auth/login", { email, password: PASSWORD })).status).toBe(401);
    const marks = await runText<{ key: string }>(server.database.sql, "select key from revocation_events where kind = 'user'");
    const { sub } = JSON.parse(Buffer.from(tokens.access_token.split(".")[1], "base64url").toString());
    expect(marks.map(({ key }) => key)).toContain(sub);
  });

  test("the user's clients and API keys are deleted, with the consents and tokens that other users gave them", async ({ server }) => {
    const { browser, login } = await server.signedInUser();
    const { client, key } = await ownClient(server, login.access_token);
    const own = { clientId: client.clientId, secret: client.clientSecret, redirectUri: "https://app.example.test/cb" };
    const visitor = await server.signedInUser();
    const theirs = await server.tokens(own, visitor.browser, { scope: "openid notes:read" });
    expect((await server.introspect(own, theirs.access_token)).body.active).toBe(true);
    expect((await visitor.browser.follow("/account")).html).toContain("My own tool");
    await close(browser);
    expect((await server.token(own, { grant_type: "client_credentials", scope: "notes:read" })).status).toBe(401);
    expect((await server.userinfo(theirs.access_token)).status).toBe(401);
    expect((await visitor.browser.follow("/account")).html).not.toContain("My own tool");
    const [kept] = await runText<{ n: number }>(server.database.sql, "select count(*)::int as n from api_keys where last4 = $1", [
      key.slice(-4),
    ]);
    expect(kept?.n).toBe(0);
  });

  test("only audit records without name and address remain, and the email address can register again", async ({ server }) => {
    const { email, id, browser } = await server.signedInUser();
    await browser.submit(await browser.follow("/account"), { firstName: "Vanishing", lastName: "Surname" });
    await server.tokens(server.clients.web, browser, { scope: "openid offline_access" });
    await aBrowser(server.url).json("/auth/forgot-password", { email });
    await close(browser);
    const { sql } = server.database;
    const columns = await runText<{ table_name: string; column_name: string }>(
      sql,
      `select table_name, column_name from information_schema.columns
       where table_schema = 'public' and data_type = 'uuid' and column_name = 'user_id'`,
    );
    expect(columns.length).toBeGreaterThan(5);
    for (const { table_name } of columns) {
      expect([table_name, await runText(sql, `select 1 from ${table_name} where user_id = $1::uuid`, [id])]).toEqual([table_name, []]);
    }
    expect(await runText(sql, "select 1 from users where id = $1::uuid", [id])).toEqual([]);
    const trail = await runText<{ event: string; all: string }>(
      sql,
      `select event, to_jsonb(audit_records)::text as "all" from audit_records where user_id = $1 order by audit_records.id`,
      [id],
    );
    expect(trail.map(({ event }) => event)).toEqual(expect.arrayContaining(["user.registered", "token.issued", "user.deleted"]));
    for (const { all } of trail) for (const personal of [email, "Vanishing", "Surname"]) expect(all).not.toContain(personal);

    const again = await aBrowser(server.url).json("/auth/register", { email, password: PASSWORD });
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(id);
  });

  test("no row names the user, but those that docs/privacy.md says are left", async ({ server }) => {
    const { sql } = server.database;
    const email = "vanishing.user@example.test";
    const { id, browser } = await server.signedInUser({ email });
    await server.tokens(server.clients.web, browser, { scope: "openid offline_access" });
    await server.code(server.clients.web, browser, { scope: "openid" });
    await browser.follow(server.authorizeUrl(server.clients.web, { code_challenge: "a".repeat(43), login_hint: email, prompt: "login" }));
    await browser.submit(await browser.follow("/account/security/address"), { email: "vanishing.user@elsewhere.test" });
    await runText(sql, "insert into identity_links (issuer, subject, user_id, email) values ('https://id.example', 'x', $1, $2)", [
      id,
      email,
    ]);
    /** Tables with a text in any of their columns. */
    const naming = async (text: string) => {
      const found = [];
      for (const table of entities.keys())
        if ((await runText(sql, `select 1 from ${table} where position($1 in to_jsonb(${table})::text) > 0 limit 1`, [text])).length > 0)
          found.push(table);
      return found;
    };
    expect(await naming("vanishing.user")).toEqual(
      expect.arrayContaining(["users", "identity_links", "address_changes", "pending_requests"]),
    );
    expect(await naming(id)).toEqual(expect.arrayContaining(["users", "sessions", "consents", "grants", "authorization_codes"]));
    await close(browser);
    // The outbox has the last mail until it is sent.
    expect((await naming("vanishing.user")).filter((table) => table !== "outbox")).toEqual(["pending_requests"]);
    expect((await naming(id)).toSorted()).toEqual(["audit_records", "pending_requests", "revocation_events"]);
  });

  test("a form without its token returns 403, and a missing session redirects to sign-in", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const body = new URLSearchParams({ form_token: "x" });
    expect((await browser.request("/account/delete", { method: "POST", body })).status).toBe(403);
    expect((await aBrowser(server.url).request("/account/delete")).headers.get("location")).toBe("/login?next=%2Faccount%2Fdelete");
    expect((await browser.follow("/account")).status).toBe(200);
  });
});

const OPERATOR = "operator password 1";
const operators = ["one@example.test", "two@example.test"].map((email) => ({
  email,
  password: OPERATOR,
  emailVerified: true,
  role: "operator",
}));

testOn({ provision: { users: operators, clients: [] } })(
  "of two operators who delete their accounts concurrently one gets 409, because the last operator must stay",
  async ({ server }) => {
    const browsers = await Promise.all(
      operators.map(async ({ email }) => {
        const browser = aBrowser(server.url);
        await browser.json("/auth/login", { email, password: OPERATOR });
        return browser;
      }),
    );
    const answers = await Promise.all(browsers.map((browser) => close(browser)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)?.html).toContain("You are the last operator.");
  },
);
