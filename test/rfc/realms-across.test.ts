import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { jws } from "../support/assertions.ts";
import { aBrowser } from "../support/browser.ts";
import { claimsOf, type TestClient } from "../support/flow.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";
const CRM = "https://crm.example.test/mcp";
const desk: TestClient = { clientId: "desk", secret: "desk-secret", redirectUri: "" };
const television: TestClient = { clientId: "television", redirectUri: "" };
const production = { environment: "production", scopes: ["openid", "crm:read"] };

let upstream: Upstream;
let server: TestServer;
let operator: Awaited<ReturnType<typeof operatorAt>>;
/** Ids by name. */
let realms: Readonly<Record<string, string>>;
beforeAll(async () => {
  upstream = await startUpstream();
  const { url: issuer } = upstream;
  server = await startServer({
    env: { ID_JAG_ENABLED: "true", ID_JAG_TRUSTED_ISSUERS: issuer },
    provision: {
      ...PROVISIONED,
      clients: [
        ...PROVISIONED.clients,
        {
          ...{ ...production, clientId: "desk", clientSecret: "desk-secret", name: "Desk", tokenEndpointAuthMethod: "client_secret_basic" },
          ...{ grantTypes: [JWT_BEARER], audience: [CRM] },
        },
        { ...production, clientId: "television", name: "Television", tokenEndpointAuthMethod: "none", grantTypes: [DEVICE_CODE] },
      ],
      realms: [{ name: "guests" }, { name: "strict", requiredAcr: "urn:countersign:mfa" }],
      connections: [
        { issuer, clientId: "us", clientSecret: "upstream-secret", name: "partners", domains: ["partners.test"], realm: "guests" },
      ],
    },
  });
  operator = await operatorAt(server.url);
  realms = Object.fromEntries((await operator.realms.list.query()).realms.map(({ name, id }) => [name, id]));
});
afterAll(async () => {
  await server.close();
  await upstream.close();
});

const move = (id: string, realm: string) => operator.users.setRealm.mutate({ id, realmId: realms[realm] ?? "" });

/** The user whom an identity assertion finds, or opens an account for. */
async function foundBy(claims: { readonly sub: string; readonly email: string }): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const about = { iss: upstream.url, aud: server.url, client_id: "desk", jti: randomUUID(), iat: now, exp: now + 100 };
  const asked = { scope: "crm:read", resource: CRM, email_verified: true };
  const assertion = jws({ ...about, ...asked, ...claims }, upstream.key, { typ: "oauth-id-jag+jwt", kid: "upstream-key" });
  const { status, body } = await server.token(desk, { grant_type: JWT_BEARER, assertion });
  expect(status).toBe(200);
  return claimsOf(body.access_token).sub;
}

describe("docs/protocol.md#realms: an identity assertion", () => {
  test("finds by address users of the default realm alone, and by a linked identity those of every realm", async () => {
    const { email, id } = await server.signedInUser();
    await move(id, "guests");
    const stranger = await foundBy({ sub: "unlinked", email });
    expect(stranger).not.toBe(id);
    expect((await operator.users.list.query({ search: stranger })).users).toMatchObject([{ realmId: realms.default }]);
    await move(id, "default");
    expect(await foundBy({ sub: "linked", email })).toBe(id);
    await move(id, "strict");
    expect(await foundBy({ sub: "linked", email })).toBe(id);
  });

  test("finds a user who has signed in by a connection of another realm to its issuer", async () => {
    const claims = { email: "petra@partners.test", email_verified: true };
    const browser = aBrowser(server.url);
    await browser.follow(upstream.signIn((await browser.follow("/signin/partners")).url, "petra", { claims }));
    const { users } = await operator.users.list.query({ realmId: realms.guests });
    expect(users.find(({ email }) => email === claims.email)?.id).toBe(await foundBy({ sub: "petra", email: claims.email }));
  });
});

test("every record of what puts a user into a realm names it", async () => {
  const guests = realms.guests ?? "";
  const newcomer = () => ({ email: `${randomUUID()}@partners.test`, password: "correct horse battery" });
  const idOf = async (email: string) => (await operator.users.list.query({ search: email })).users[0]?.id ?? "";
  const ways = {
    async sign_up(email: string, password: string) {
      await aBrowser(server.url).json("/auth/register", { email, password, realmId: guests });
    },
    async by_operator(email: string, password: string) {
      await operator.users.create.mutate({ email, password, realmId: guests });
    },
    async imported(email: string) {
      await operator.users.import.mutate({ users: [{ email, realm: "guests" }] });
    },
    async created(email: string, password: string) {
      await operator.provision.mutate({ users: [{ email, password, realm: "guests" }] });
    },
    async connection(email: string) {
      const browser = aBrowser(server.url);
      const left = await browser.follow("/signin/partners");
      await browser.follow(upstream.signIn(left.url, email, { claims: { email, email_verified: true } }));
    },
    async invited(email: string, password: string) {
      await operator.users.invite.mutate({ email, realmId: guests });
      const browser = aBrowser(server.url);
      await browser.submit(await browser.follow(`/invitation?token=${await server.verificationToken(email)}`), { email, password });
    },
  };
  const opened = (await operator.audit.list.query({ userId: await foundBy({ sub: randomUUID(), email: "" }) })).records;
  expect(opened.find(({ event }) => event === "user.registered")?.resources).toEqual([`realm:${realms.default}`]);
  for (const [reason, open] of Object.entries(ways)) {
    const { email, password } = newcomer();
    await open(email, password);
    const { records } = await operator.audit.list.query({ userId: await idOf(email) });
    const [record] = records.filter(({ event }) => event === "user.registered" || event === "user.provisioned");
    const about = reason === "connection" ? [upstream.url] : [];
    expect([reason, record?.resources]).toEqual([reason, [...about, `realm:${guests}`]]);
    expect(record?.reason).toBe(reason === "sign_up" ? undefined : reason);
  }
  expect((await operator.audit.list.query({ event: "user.invited" })).records[0]?.resources).toEqual([`realm:${guests}`]);
});

describe("docs/protocol.md#realms: a user who is moved", () => {
  test("into a realm that demands more meets its demand with the decision on an application, which goes on once they are moved again", async () => {
    const { browser, id } = await server.signedInUser();
    const asked = { code_challenge: server.pkce().challenge, scope: "openid" };
    const page = await browser.follow(server.authorizeUrl(server.clients.web, asked));
    await move(id, "strict");
    const kept = await browser.submit(page, { decision: "approve" });
    expect(kept.url).toContain("/login/set-up?request=");
    expect((await server.authorize(server.clients.web, browser, { scope: "openid", prompt: "none" })).get("error")).toBe("login_required");
    await move(id, "guests");
    expect((await browser.submit(await browser.follow(kept.url), { decision: "approve" })).url).toContain("?code=");
  });

  test("does so with the decision on a device too, which waits", async () => {
    const { browser, id } = await server.signedInUser();
    const { body } = await server.form("/oauth/device_authorization", { client_id: "television", scope: "openid" });
    const poll = () => server.token(television, { grant_type: DEVICE_CODE, device_code: body.device_code });
    const page = await browser.submit(await browser.follow("/device"), { user_code: body.user_code });
    await move(id, "strict");
    const kept = await browser.submit(page, { decision: "approve" });
    expect([kept.url.includes("/login/set-up?request="), (await poll()).body.error]).toEqual([true, "authorization_pending"]);
    await move(id, "default");
    expect((await browser.submit(await browser.follow(kept.url), { decision: "approve" })).url).toContain("/device/done");
  });

  test("keeps what was granted, however much the realm demands", async () => {
    const { browser, id } = await server.signedInUser();
    const { refresh_token } = await server.tokens(server.clients.web, browser, { scope: "openid offline_access" });
    await move(id, "strict");
    expect((await server.refresh(server.clients.web, refresh_token)).status).toBe(200);
  });
});
