import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { registerConnectionCommands } from "../../src/cli/connections.ts";
import { registerDoctorCommand } from "../../src/cli/doctor/command.ts";
import { registerRealmCommands } from "../../src/cli/realms.ts";
import { registerUserCommands } from "../../src/cli/users.ts";
import { operatorAt } from "../support/admin.ts";
import { withApp } from "../support/authenticator-app.ts";
import { aBrowser } from "../support/browser.ts";
import { claimsOf } from "../support/flow.ts";
import { OPERATOR, PROVISIONED, startServer, type TestServer } from "../support/server.ts";
import { aTerminal, type Registers } from "../support/terminal.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const PASSWORD = "correct horse battery";
const MFA = "urn:countersign:mfa";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

let upstream: Upstream;
let server: TestServer;
let operator: Awaited<ReturnType<typeof operatorAt>>;
/** Their ids by name. */
let realms: Readonly<Record<string, string>>;
beforeAll(async () => {
  upstream = await startUpstream();
  const connection = { issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret" };
  server = await startServer({
    provision: {
      ...PROVISIONED,
      connections: [{ ...connection, name: "partners", title: "Partners", domains: ["partners.test"], realm: "guests" }],
      realms: [
        { name: "guests", branding: { name: "Guests of Acme" } },
        { name: "strict", requiredAcr: MFA },
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

let count = 0;
async function memberOf(realmId: string | undefined) {
  const email = `member-${++count}@example.test`;
  const browser = aBrowser(server.url);
  const { status, body } = await browser.json("/auth/register", { email, password: PASSWORD, realmId });
  expect(status).toBe(201);
  return { email, browser, id: body.id as string };
}

describe("a realm that demands a stronger sign-in", () => {
  test("starts no session for a program that signs in with less, and records the refusal", async () => {
    const { id: userId, browser, email } = await memberOf(realms.strict);
    for (const path of ["/auth/login", "/auth/login?session=false"]) {
      const refused = await browser.json(path, { email, password: PASSWORD });
      expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining(MFA)]);
    }
    expect((await operator.sessions.list.query({ userId })).sessions).toEqual([]);
    const { records } = await operator.audit.list.query({ userId });
    expect(records.map(({ event, reason }) => [event, reason])).toEqual([
      ["session.refused", "sign_in_too_weak"],
      ["session.refused", "sign_in_too_weak"],
      ["user.registered", undefined],
    ]);
  });

  test("leaves the session of a browser in which a program signs in with less", async () => {
    const { browser, email } = await memberOf(realms.strict);
    await browser.submit(await browser.follow("/login"), { email, password: PASSWORD });
    expect((await browser.json("/auth/login", { email, password: PASSWORD })).status).toBe(403);
    expect((await browser.follow("/account")).url).toBe(`${server.url}/account`);
  });

  test("leads users who accept an invitation to set that up, and users who sign up where the default realm demands it", async () => {
    const led = async (path: string, email: string) => {
      const browser = aBrowser(server.url);
      const { url } = await browser.submit(await browser.follow(path), { email, password: PASSWORD });
      return url;
    };
    const email = "invited@strict.test";
    await operator.users.invite.mutate({ email, realmId: realms.strict });
    const invited = `/invitation?token=${await server.verificationToken(email)}`;
    expect(await led(invited, email)).toBe(`${server.url}/login/set-up`);
    const id = realms.default ?? "";
    await operator.realms.setRequiredAcr.mutate({ id, requiredAcr: MFA });
    expect(await led("/signup", "newcomer@strict.test")).toBe(`${server.url}/login/set-up`);
    await operator.realms.setRequiredAcr.mutate({ id, requiredAcr: null });
    expect(await led("/signup", "later@strict.test")).toContain(`${server.url}/account?done=joined.`);
  });

  test("asks nothing more of users for whom a believed provider has proved as much", async () => {
    const issuer = { issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret", domains: ["strict.test"] };
    await operator.connections.create.mutate({ ...issuer, name: "believed", title: "Believed", realmId: realms.strict, trustsAcr: true });
    const claims = { email: "sam@strict.test", email_verified: true };
    const arrive = async (acr: string) => {
      const browser = aBrowser(server.url);
      const { url } = await browser.follow(
        upstream.signIn((await browser.follow("/signin/believed")).url, "sam", { claims: { ...claims, acr } }),
      );
      return [url, (await browser.follow("/login/set-up")).url].map((each) => new URL(each).pathname);
    };
    expect(await arrive("phr")).toEqual(["/account", "/account"]);
    expect(await arrive("0")).toEqual(["/login/set-up", "/login/set-up"]);
    await operator.connections.remove.mutate({ name: "believed" });
  });

  test("has its users' tokens say how they signed in, as a request that asks for it has, and leaves the ID token as it is", async () => {
    const { setUp: browser, id } = await withApp(server);
    const asked = { scope: "openid offline_access" };
    const before = await server.tokens(server.clients.web, browser, asked);
    await operator.users.setRealm.mutate({ id, realmId: realms.strict ?? "" });
    const issued = await server.tokens(server.clients.web, browser, asked);
    const { auth_time } = claimsOf(issued.id_token);
    const said = { acr: MFA, amr: ["pwd", "otp", "mfa"], auth_time };
    expect(claimsOf(issued.access_token)).toMatchObject(said);
    expect((await server.introspect(server.clients.web, issued.access_token)).body).toMatchObject(said);
    expect(claimsOf((await server.refresh(server.clients.web, issued.refresh_token)).body.access_token)).toMatchObject(said);
    expect(claimsOf(issued.id_token)).not.toHaveProperty("acr");
    expect(claimsOf((await server.refresh(server.clients.web, before.refresh_token)).body.access_token)).not.toHaveProperty("acr");
  });
});

describe("a provider whose users get accounts in another realm than the default one", () => {
  test("is offered at every sign-in, and leads its users into that realm", async () => {
    const visitor = aBrowser(server.url);
    const request = server.authorizeUrl(server.clients.web, { code_challenge: CHALLENGE, scope: "openid" });
    for (const path of ["/login", request]) {
      const page = await visitor.follow(path);
      expect(page.html).toContain('href="/signin/partners');
      const typed = await visitor.submit(page, { email: "paula@partners.test", password: "" });
      expect(typed.url.startsWith(`${upstream.url}/authorize?`)).toBe(true);
    }
    const left = await visitor.follow("/signin/partners?login_hint=paula@partners.test");
    const claims = { email: "paula@partners.test", email_verified: true };
    const arrived = await visitor.follow(upstream.signIn(left.url, "paula", { claims }));
    expect(arrived.html).toContain("· Guests of Acme</title>");
    expect((await operator.users.list.query({ realmId: realms.guests })).users.map(({ email }) => email)).toContain(claims.email);
  });

  test("goes by the title that it has in the realm of the user, where each realm has a connection to it", async () => {
    const issuer = { issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret" };
    await operator.connections.create.mutate({ ...issuer, name: "staff", title: "Staff", realmId: realms.default });
    const claims = { email: "petra@partners.test", email_verified: true };
    const browser = aBrowser(server.url);
    await browser.follow(upstream.signIn((await browser.follow("/signin/partners")).url, "petra", { claims }));
    const connected = async () => /<h3><bdi>(Partners|Staff)</.exec((await browser.follow("/account/security")).html)?.[1];
    expect(await connected()).toBe("Partners");
    const [{ id = "" } = {}] = (await operator.users.list.query({ search: claims.email })).users;
    await operator.users.setRealm.mutate({ id, realmId: realms.default ?? "" });
    expect(await connected()).toBe("Staff");
    await operator.connections.remove.mutate({ name: "staff" });
    expect(await connected()).toBe("Partners");
  });

  test("is offered to users of every realm who connect another account", async () => {
    const { browser, email } = await memberOf(undefined);
    await browser.json("/auth/login", { email, password: PASSWORD });
    expect((await browser.follow("/account/security")).html).toContain("Connect Partners");
  });
});

describe("an id in capitals", () => {
  test("names the same realm or user in every list, and the owner of a client", async () => {
    const { id, email } = await memberOf(realms.guests);
    const guests = { realmId: realms.guests?.toUpperCase() ?? "" };
    expect((await operator.users.list.query(guests)).users.map((user) => user.email)).toContain(email);
    expect((await operator.users.list.query({ ...guests, search: id.toUpperCase() })).users).toMatchObject([{ id }]);
    const clientsOf = async (realmId = "") => (await operator.clients.list.query({ realmId })).clients.length;
    expect([await clientsOf(realms.default?.toUpperCase()), await clientsOf(realms.guests)]).toEqual([await clientsOf(realms.default), 0]);
    const owner = { ownerId: id.toUpperCase() };
    const client = await operator.clients.create.mutate({ name: "Owned", ...owner, grantTypes: ["client_credentials"] });
    expect((await operator.clients.list.query(owner)).clients).toMatchObject([{ id: client.id, ownerId: id }]);
  });

  test("names the same user in the audit log, and a client_id in capitals stays one", async () => {
    const { id } = await memberOf(undefined);
    const capitals = id.toUpperCase();
    const clientId = crypto.randomUUID().toUpperCase();
    const asked = { clientId, name: "Capitals", grantTypes: ["client_credentials" as const], scopes: ["notes:read"] };
    const { clientSecret: secret = "" } = await operator.clients.create.mutate(asked);
    await server.token({ clientId, secret, redirectUri: "" }, { grant_type: "client_credentials", scope: "notes:read" });
    await expect.poll(async () => (await operator.audit.chain.query()).waiting).toBe(0);
    const { audit } = operator;
    const listed = [{ userId: capitals }, { actorId: capitals }, { search: capitals }, { actorId: clientId }, { search: clientId }];
    for (const filter of listed) {
      const found = (await audit.list.query(filter)).records;
      const followed = (await audit.follow.query({ ...filter, limit: 200 })).records;
      expect([filter, found.length > 0, followed.map((record) => record.id)]).toEqual([
        filter,
        true,
        found.map((record) => record.id).toReversed(),
      ]);
    }
  });
});

test("the mail that confirms an address has the branding of the realm, however its id was written", async () => {
  const { email } = await memberOf(realms.guests?.toUpperCase());
  await expect.poll(() => server.mailTo(email) ?? "").toContain("Guests of Acme");
});

test("records of what is said of a scope or resource name the realm", async () => {
  const realmId = realms.guests ?? "";
  const resource = "https://crm.example.test/mcp";
  const [scope, title] = ["crm:guests", { en: "See guests" }];
  await operator.scopes.set.mutate({ realmId, name: scope, title });
  await operator.scopes.remove.mutate({ realmId, name: scope });
  await operator.resources.create.mutate({ realmId, resource });
  await operator.resources.update.mutate({ realmId, resource, enabled: false });
  await operator.resources.remove.mutate({ realmId, resource });
  const { records } = await operator.audit.list.query({ limit: 50 });
  const named = records.filter(({ resources }) => resources?.includes(`realm:${realmId}`)).map(({ event }) => event);
  const events = ["resource.changed", "resource.created", "resource.deleted", "scope.changed", "scope.removed"];
  expect(named.filter((event) => events.includes(event)).toSorted()).toEqual(events);
});

test("a record of a resource in another realm than the default one has words for its users alone, and binds no client", async () => {
  const resource = "https://vault.example.test/mcp";
  const record = { resource, name: "Vault", scopes: [{ name: "notes:read", stepUp: { acr: MFA } as const }] };
  await operator.resources.create.mutate({ ...record, realmId: realms.guests, name: "Vault of guests", enabled: false });
  const { browser, email } = await memberOf(realms.guests);
  await browser.json("/auth/login", { email, password: PASSWORD });
  const asked = { code_challenge: CHALLENGE, scope: "openid notes:read", resource };
  const consent = await browser.follow(server.authorizeUrl(server.clients.web, asked));
  expect([consent.url.includes("/consent"), consent.html.includes("Vault of guests")]).toEqual([true, true]);
  await operator.resources.create.mutate(record);
  expect((await browser.follow(server.authorizeUrl(server.clients.web, asked))).url).toContain("/login/set-up");
});

describe("the command line", () => {
  const at = async (...words: string[]) => {
    const { run, leave } = aTerminal({ serverUrl: server.url, ...OPERATOR });
    const doctor: Registers = (program, terminal) => registerDoctorCommand(program, terminal, () => undefined);
    const done = await run([registerRealmCommands, registerUserCommands, registerConnectionCommands, doctor], words);
    leave();
    return done;
  };

  test("lists and tests the connections of every realm, and lists those of one", async () => {
    expect((await at("connections", "list")).out).toContain("partners");
    expect((await at("connections", "list", "--realm", "guests")).out).toContain("partners");
    expect((await at("connections", "list", "--realm", "default")).out).not.toContain("partners");
    expect((await at("doctor")).out).toContain("partners");
  });

  test("makes, renames and removes a realm, and says what is in one that stays", async () => {
    expect(await at("realms", "create", " Board ")).toMatchObject({ code: 0, out: expect.stringMatching(/^[0-9a-f-]{36} +Board +-$/m) });
    expect((await at("realms", "rename", "Board", "Council")).out).toMatch(/ Council +-$/m);
    const { email } = await memberOf(realms.default);
    expect((await at("users", "move", email, "Council")).out).toMatch(/ yes +Council$/m);
    expect((await at("users", "list", "--search", email)).out).toMatch(/ REALM\n.* Council$/m);
    const refused = "The realm is not empty: it has 1 user.\n";
    expect(await at("realms", "remove", "Council", "--yes")).toMatchObject({ code: 1, err: expect.stringContaining(refused) });
    await at("users", "move", email, "default");
    expect(await at("realms", "remove", "Council", "--yes")).toMatchObject({ code: 0, out: "removed Council\n" });
    expect(await at("users", "move", email, "Council")).toMatchObject({ code: 4, err: "There is no realm named Council.\n" });
  });

  test("names the realm of users, invitations and connections", async () => {
    const invited = "board@example.test";
    expect(await at("users", "invite", invited, "--realm", "guests")).toMatchObject({ code: 0 });
    expect((await at("users", "invitations")).out).toMatch(/^board@example\.test .* guests$/m);
    expect((await at("connections", "list")).out).toMatch(/^partners .* yes +guests$/m);
    expect((await at("connections", "show", "partners")).out).toMatch(/^realm +guests$/m);
  });

  test("says how many users have to set up the sign-in that a realm now demands", async () => {
    const { id, name } = await operator.realms.create.mutate({ name: "board members" });
    expect(await at("realms", "require-sign-in", name, "mfa")).toMatchObject({ code: 0, err: "" });
    for (const email of ["one@board.test", "two@board.test"])
      await operator.users.create.mutate({ email, password: PASSWORD, realmId: id });
    expect((await at("realms", "require-sign-in", name, "phr")).err).toMatch(
      /^2 users have no such sign-in here, and set one up at their next sign-in/,
    );
    expect(await operator.realms.setRequiredAcr.mutate({ id, requiredAcr: null })).toEqual({ id, requiredAcr: null, lacking: 0 });
  });

  test("finds a realm by its id in capitals", async () => {
    const id = realms.strict ?? "";
    expect(await at("realms", "require-sign-in", id.toUpperCase(), "phr")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/sign in with phr\.\n$/),
    });
    expect(await operator.realms.get.query({ id })).toMatchObject({ requiredAcr: "phr" });
    await at("realms", "require-sign-in", id, "mfa");
  });
});
