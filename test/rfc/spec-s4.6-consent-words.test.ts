import { createAdminClient, refusalOf } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authorizePath } from "../support/people.ts";
import { aBrowser } from "../support/person.ts";
import { startServer, type TestServer } from "../support/server.ts";

const CALLBACK = "https://app.example.test/cb";
const PASSWORD = "correct horse battery";
const app = { redirectUris: [CALLBACK], tokenEndpointAuthMethod: "none", scopes: ["openid", "crm:read", "crm:write"] };

let server: TestServer;
let operator: ReturnType<typeof createAdminClient>;
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
      ],
      scopes: [{ name: "crm:write", title: { en: "Change customers", de: "Kunden ändern" } }],
    },
  });
  const login = await aBrowser(server.url).json("/auth/login", { email: "op@example.test", password: PASSWORD });
  operator = createAdminClient({ url: server.url, token: login.body.access_token });
});
afterAll(() => server.close());

async function consent(members: Record<string, string> = {}, language = "en"): Promise<string> {
  const browser = aBrowser(server.url, { "accept-language": language });
  await browser.json("/auth/login", { email: "ada@example.test", password: PASSWORD });
  return (await browser.follow(authorizePath({ redirect_uri: CALLBACK, scope: "openid crm:read crm:write", ...members }))).html;
}

describe("the consent page says what a scope allows in the operators' words", () => {
  test("as a provisioning file has them, in the language of the person", async () => {
    expect(await consent()).toContain("Change customers");
    expect(await consent({}, "de")).toContain("Kunden ändern");
  });

  test("as operators change them: at once, escaped, recorded; without them the name stands there again", async () => {
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
    const told = records.filter(({ scope }) => scope === "crm:read").map(({ event, actor }) => [event, actor.type]);
    expect(told.filter(([event]) => event?.startsWith("scope."))).toEqual([
      ["scope.removed", "user"],
      ["scope.changed", "user"],
    ]);
  });

  test("built-in words too, and the list says which are", async () => {
    await operator.operator.scopes.set.mutate({ name: "openid", title: { en: "Sign you in" } });
    expect(await consent()).toContain("Sign you in");
    const { scopes } = await operator.operator.scopes.list.query();
    expect(scopes.filter(({ name }) => name === "openid")).toEqual([
      { name: "openid", title: { en: "Sign you in" }, detail: {}, builtIn: false },
    ]);
    expect(scopes.find(({ name }) => name === "profile")).toMatchObject({ builtIn: true, title: { de: "Ihren Namen sehen" } });
    await operator.operator.scopes.remove.mutate({ name: "openid" });
  });

  test("which are for operators to say, and only so that they show", async () => {
    const refused = (call: Promise<unknown>) => call.then(() => undefined, refusalOf);
    const login = await aBrowser(server.url).json("/auth/login", { email: "ada@example.test", password: PASSWORD });
    const { scopes } = createAdminClient({ url: server.url, token: login.body.access_token }).operator;
    const words = { name: "crm:read", title: { en: "x" } };
    for (const call of [scopes.list.query(), scopes.set.mutate(words), scopes.remove.mutate({ name: "crm:write" })]) {
      expect(await refused(call)).toMatchObject({ error: "forbidden" });
    }
    const own = operator.operator.scopes;
    expect(await refused(own.set.mutate({ ...words, title: { en: "a\u202eb" } }))).toMatchObject({
      error: "invalid_request",
      issues: [{ path: "title.en" }],
    });
    for (const call of [own.remove.mutate({ name: "nobody:knows" }), own.set.mutate({ ...words, realmId: "no-uuid" })]) {
      expect(await refused(call)).toMatchObject({ error: "not_found" });
    }
  });
});

describe("the consent page says for how long", () => {
  test("each time for the life of an access token, where the client gets no refresh token", async () => {
    expect(await consent()).toContain("For 15 minutes each time that you come from there.");
    expect(await consent({}, "de")).toContain("Jeweils für 15 Minuten, wenn Sie von dort kommen.");
  });

  test("until it is taken back or runs out, where the client may go on by itself", async () => {
    expect(await consent({ client_id: "lasting" })).toContain(
      "but for 90 days at most. It ends by itself when it is not used for 30 days.",
    );
    expect(await consent({ client_id: "lasting" }, "de")).toContain("aber höchstens 90 Tage. Wird es 30 Tage lang nicht genutzt");
  });
});
