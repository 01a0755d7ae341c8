import type { AdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminAs, refusedWith } from "../support/admin.ts";
import { aBrowser, formsOf } from "../support/browser.ts";
import { TOKEN_EXCHANGE } from "../support/delegation.ts";
import { authorizePath } from "../support/pages-server.ts";
import { startServer, type TestServer } from "../support/server.ts";

const CALLBACK = "https://app.example.test/cb";
const PASSWORD = "correct horse battery";
const app = { redirectUris: [CALLBACK], tokenEndpointAuthMethod: "none", scopes: ["openid", "crm:read", "crm:write"] };

const agent = { clientSecret: "an-agent-secret", tokenEndpointAuthMethod: "client_secret_basic", grantTypes: ["client_credentials"] };

let server: TestServer;
let operator: AdminClient;
beforeAll(async () => {
  server = await startServer({
    provision: {
      users: [
        { email: "op@example.test", password: PASSWORD, role: "operator" },
        { email: "ada@example.test", password: PASSWORD },
      ],
      clients: [
        { ...app, clientId: "web", name: "Field Notes", grantTypes: ["authorization_code"] },
        { ...app, clientId: "lasting", name: "Field Notes", grantTypes: ["authorization_code", "refresh_token"] },
        { ...agent, clientId: "c-meetings", name: "Meeting & notes helper", isAgent: true, grantTypes: [TOKEN_EXCHANGE] },
        { ...agent, clientId: "c-files", name: "crm.example.test" },
      ],
      scopes: [{ name: "crm:write", title: { en: "Change customers", de: "Kunden ändern" } }],
    },
  });
  operator = (await adminAs(server.url, { email: "op@example.test", password: PASSWORD })).admin;
});
afterAll(() => server.close());

async function consent(members: Record<string, string> = {}, language = "en"): Promise<string> {
  const browser = aBrowser(server.url, { "accept-language": language });
  await browser.json("/auth/login", { email: "ada@example.test", password: PASSWORD });
  return (await browser.follow(authorizePath({ redirect_uri: CALLBACK, scope: "openid crm:read crm:write", ...members }))).html;
}

describe("scope texts on the consent page", () => {
  test("come from the provisioning file, in the language of the user", async () => {
    expect(await consent()).toContain("Change customers");
    expect(await consent({}, "de")).toContain("Kunden ändern");
  });

  test("follow changes by operators at once, escaped and audited, and fall back to the scope name", async () => {
    expect(await consent()).toContain("<bdi>crm:read</bdi>");
    await operator.operator.scopes.set.mutate({
      name: "crm:read",
      title: { en: "Read <b>all</b> customers" },
      detail: { en: "Names & more." },
    });
    const page = await consent();
    expect(page).toContain("Read &lt;b&gt;all&lt;/b&gt; customers");
    expect(page).toContain("Names &amp; more.");
    expect(await consent({}, "de")).toContain('<bdi lang="en">Read &lt;b&gt;all&lt;/b&gt; customers</bdi>');
    await operator.operator.scopes.remove.mutate({ name: "crm:read" });
    expect(await consent()).toContain("<bdi>crm:read</bdi>");
    const { records } = await operator.operator.audit.list.query({ limit: 20 });
    const logged = records.filter(({ scope }) => scope === "crm:read").map(({ event, actor }) => [event, actor.type]);
    expect(logged.filter(([event]) => event?.startsWith("scope."))).toEqual([
      ["scope.removed", "user"],
      ["scope.changed", "user"],
    ]);
  });

  test("and names are those of a resource's record, in the realm of the user or else in the default one, where clients are", async () => {
    const resource = "https://crm.example.test/mcp";
    const { resources, realms } = operator.operator;
    const { id: realmId } = await realms.create.mutate({ name: "Guests" });
    const record = (whose: string) => ({
      resource,
      name: `CRM ${whose}`,
      scopes: [{ name: "crm:read", title: { en: `Read for ${whose}` } }],
    });
    await resources.create.mutate(record("all"));
    const guest = aBrowser(server.url);
    const credentials = { email: "guest@example.test", password: PASSWORD };
    await guest.json("/auth/register", { ...credentials, realmId });
    await guest.json("/auth/login", credentials);
    const shown = async () => (await guest.follow(authorizePath({ redirect_uri: CALLBACK, scope: "crm:read", resource }))).html;
    const ofAll = await shown();
    expect(ofAll).toContain("CRM all");
    expect(ofAll).toContain("Read for all");
    const { scopes, ...named } = record("guests");
    await resources.create.mutate({ ...named, realmId });
    const namedByGuests = await shown();
    expect(namedByGuests).toContain("CRM guests");
    expect(namedByGuests).toContain("Read for all");
    await resources.update.mutate({ resource, realmId, scopes: [{ name: "crm:read" }] });
    expect(await shown()).toContain("Read for all");
    await resources.update.mutate({ resource, realmId, scopes });
    const ofGuests = await shown();
    expect(ofGuests).toContain("CRM guests");
    expect(ofGuests).toContain("Read for guests");
    expect(await consent({ resource })).toContain("Read for all");
  });

  test("stand below the resource to which the record in the default realm says that they belong", async () => {
    const { resources, realms } = operator.operator;
    const [crm, files] = ["https://crm-2.example.test/mcp", "https://files.example.test/mcp"];
    await resources.create.mutate({ resource: crm, name: "Customers", scopes: [{ name: "crm:read" }] });
    await resources.create.mutate({ resource: files, name: "Files", scopes: [{ name: "crm:write" }] });
    const { id: realmId } = await realms.create.mutate({ name: "Partners" });
    await resources.create.mutate({ resource: crm, name: "Customers of partners", realmId });
    const partner = aBrowser(server.url);
    const credentials = { email: "partner@example.test", password: PASSWORD };
    await partner.json("/auth/register", { ...credentials, realmId });
    await partner.json("/auth/login", credentials);
    const asked = `${authorizePath({ redirect_uri: CALLBACK, scope: "crm:read crm:write", resource: crm })}&resource=${encodeURIComponent(files)}`;
    const { html } = await partner.follow(asked);
    expect([...html.matchAll(/<h3 class="grants-of"><bdi>([^<(]*) \(/g)].map(([, name]) => name)).toEqual([
      "Customers of partners",
      "Files",
    ]);
  });

  test("of a realm count for its users, who see those of the default realm where it has none", async () => {
    const { scopes, realms } = operator.operator;
    const { id: realmId } = await realms.create.mutate({ name: "Visitors" });
    const visitor = aBrowser(server.url);
    const credentials = { email: "visitor@example.test", password: PASSWORD };
    await visitor.json("/auth/register", { ...credentials, realmId });
    await visitor.json("/auth/login", credentials);
    const shown = async () => (await visitor.follow(authorizePath({ redirect_uri: CALLBACK, scope: "crm:write" }))).html;
    expect(await shown()).toContain("Change customers");
    await scopes.set.mutate({ realmId, name: "crm:write", title: { en: "Change what visitors see" } });
    expect(await shown()).toContain("Change what visitors see");
    expect(await consent()).toContain("Change customers");
    await scopes.remove.mutate({ realmId, name: "crm:write" });
    expect(await shown()).toContain("Change customers");
  });

  test("replace built-in texts, and the list marks those that are built in", async () => {
    await operator.operator.scopes.set.mutate({ name: "openid", title: { en: "Sign you in" } });
    expect(await consent()).toContain("Sign you in");
    const { scopes } = await operator.operator.scopes.list.query();
    expect(scopes.filter(({ name }) => name === "openid")).toEqual([
      { name: "openid", title: { en: "Sign you in" }, detail: {}, builtIn: false },
    ]);
    expect(scopes.find(({ name }) => name === "profile")).toMatchObject({ builtIn: true, title: { de: "Ihren Namen sehen" } });
    await operator.operator.scopes.remove.mutate({ name: "openid" });
  });

  test("are set by operators only, and invalid texts, scopes and realms are refused", async () => {
    const { scopes } = (await adminAs(server.url, { email: "ada@example.test", password: PASSWORD })).admin.operator;
    const words = { name: "crm:read", title: { en: "x" } };
    for (const refusal of [scopes.list.query(), scopes.set.mutate(words), scopes.remove.mutate({ name: "crm:write" })].map(refusedWith)) {
      expect(await refusal).toMatchObject({ error: "forbidden" });
    }
    const own = operator.operator.scopes;
    expect(await refusedWith(own.set.mutate({ ...words, title: { en: "a\u202eb" } }))).toMatchObject({
      error: "invalid_request",
      issues: [{ path: "title.en" }],
    });
    for (const refusal of [own.remove.mutate({ name: "unknown:scope" }), own.set.mutate({ ...words, realmId: "no-uuid" })].map(
      refusedWith,
    )) {
      expect(await refusal).toMatchObject({ error: "not_found" });
    }
  });
});

describe("the duration on the consent page", () => {
  test("is the lifetime of an access token for a client without refresh tokens", async () => {
    expect(await consent()).toContain("For 15 minutes after each sign-in.");
    expect(await consent({}, "de")).toContain("Nach jeder Anmeldung für 15 Minuten.");
  });

  test("is up to 90 days for a client with refresh tokens", async () => {
    expect(await consent({ client_id: "lasting" })).toContain("Until you remove it, for up to 90 days. Ends after 30 days without use.");
    expect(await consent({ client_id: "lasting" }, "de")).toContain("höchstens 90 Tage. Endet, wenn er 30 Tage lang nicht genutzt wird.");
  });
});

describe("recipients of access on the consent page", () => {
  const resource = "c-meetings";

  test("an agent is shown by its escaped name, as an agent that can act for the user", async () => {
    const page = await consent({ resource });
    expect(page).toContain("<bdi>Meeting &amp; notes helper (agent)</bdi>");
    expect(page).toContain("Can act for you within what you allow here.");
    expect(page).toContain("A permission at Meeting &amp; notes helper (agent).");
    expect(await consent({ resource }, "de")).toMatch(
      /notes helper \(Agent\)<.*Kann im Rahmen dessen, was Sie hier erlauben, für Sie handeln/s,
    );
  });

  test("another client is shown by its name as an application, so that it looks like neither an agent nor a host", async () => {
    const page = await consent({ resource: "c-files" });
    expect(page).toContain("<bdi>crm.example.test (application)</bdi>");
    expect(page).not.toContain("Can act for you");
  });

  test("the account page shows the agent as well", async () => {
    const browser = aBrowser(server.url);
    await browser.json("/auth/login", { email: "ada@example.test", password: PASSWORD });
    const page = await browser.follow(authorizePath({ redirect_uri: CALLBACK, scope: "openid crm:read", resource }));
    const [form] = formsOf(page.html, page.url);
    const body = new URLSearchParams({ ...form?.fields, decision: "approve" });
    await browser.follow(form?.action ?? "", { method: "POST", body, headers: { origin: new URL(page.url).origin } });
    expect((await browser.follow("/account")).html).toContain("Meeting &amp; notes helper (agent)");
  });
});
