import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorAt, refusedWith } from "../support/admin.ts";
import { jws, keyFor } from "../support/assertions.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { authorizePath } from "../support/pages-server.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { type Answer, startUpstream, type Upstream } from "../support/upstream.ts";

const PASSWORD = "correct horse battery";

let upstream: Upstream;
let server: TestServer;
beforeAll(async () => {
  upstream = await startUpstream();
  const connection = { issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret" };
  server = await startServer({
    env: { TRUST_PROXY: "true" },
    provision: {
      users: [{ ...OPERATOR, emailVerified: true, role: "operator" }],
      clients: [
        {
          clientId: "web",
          name: "Field Notes",
          redirectUris: ["https://app.example.test/cb"],
          scopes: ["openid", "notes:read"],
          grantTypes: ["authorization_code"],
          tokenEndpointAuthMethod: "none",
          environment: "production",
        },
      ],
      connections: [
        { ...connection, name: "acme", title: "Acme", domains: ["acme.test"] },
        { ...connection, name: "other", title: "Other" },
      ],
    },
  });
});
afterAll(async () => {
  await server.close();
  await upstream.close();
});

let count = 0;
const aVisitor = () => aBrowser(server.url, { accept: "text/html", "x-forwarded-for": `198.51.100.${++count}` });
type Visitor = ReturnType<typeof aVisitor>;

/** Follows the button of a connection to its provider. */
const leave = async (visitor: Visitor, path = "/signin/acme") => (await visitor.follow(path)).url;
const arrive = async (visitor: Visitor, subject: string, answer: Answer = {}, path?: string) =>
  visitor.follow(upstream.signIn(await leave(visitor, path), subject, answer));
const verified = (email: string) => ({ claims: { email, email_verified: true } });
const reasonsOf = (sub: string) =>
  runText(server.database.sql, "select event, reason from audit_records where user_id = $1 order by event", [sub]);

async function withPassword(email: string): Promise<Visitor> {
  const visitor = aVisitor();
  await visitor.submit(await visitor.follow("/signup"), { email, password: PASSWORD });
  return visitor;
}

describe("a user whom a provider names", () => {
  test("gets an account for a verified address of a trusted domain, and finds it again by the subject alone", async () => {
    const first = await arrive(aVisitor(), "anna", verified("Anna@acme.test"));
    expect([first.url, first.html.includes("Anna@acme.test")]).toEqual([`${server.url}/account`, true]);
    const [user] = await runText<{ id: string; email_verified: boolean }>(
      server.database.sql,
      "select id::text, email_verified from users where email_key = 'anna@acme.test'",
      [],
    );
    expect(user?.email_verified).toBe(true);
    expect(await reasonsOf(user?.id ?? "")).toEqual([
      { event: "identity.linked", reason: "connection" },
      { event: "session.started", reason: "connection" },
      { event: "user.registered", reason: "connection" },
    ]);
    const renamed = await arrive(aVisitor(), "anna", verified("anna.married@acme.test"));
    expect([renamed.url, renamed.html.includes("Anna@acme.test")]).toEqual([`${server.url}/account`, true]);
  });

  test("is not signed in by HEAD, which uses up nothing", async () => {
    const visitor = aVisitor();
    const back = upstream.signIn(await leave(visitor), "headed", verified("headed@acme.test"));
    expect((await visitor.request(back, { method: "HEAD" })).status).toBe(200);
    expect((await visitor.follow(back)).url).toBe(`${server.url}/account`);
  });

  test("continues with the application's request, in each of two tabs", async () => {
    const visitor = aVisitor();
    const [one, two] = [await visitor.follow(authorizePath({ state: "one" })), await visitor.follow(authorizePath({ state: "two" }))];
    const way = (html: string) => (/href="(\/signin\/acme[^"]*)"/.exec(html)?.[1] ?? "").replaceAll("&amp;", "&");
    const [left, right] = [await leave(visitor, way(one.html)), await leave(visitor, way(two.html))];
    const answer = verified("tabs@acme.test");
    const consent = await visitor.follow(upstream.signIn(right, "tabs", answer));
    const ends = [await visitor.submit(consent, { decision: "approve" }), await visitor.follow(upstream.signIn(left, "tabs", answer))].map(
      ({ url }) => new URL(url).searchParams,
    );
    expect(ends.map((end) => [end.get("state"), end.has("code")])).toEqual([
      ["two", true],
      ["one", true],
    ]);
  });

  test("is asked again by the provider where the application asks for a new sign-in, and an old proof is refused", async () => {
    const visitor = aVisitor();
    const page = await visitor.follow(authorizePath({ prompt: "login" }));
    const way = (/href="(\/signin\/acme[^"]*)"/.exec(page.html)?.[1] ?? "").replaceAll("&amp;", "&");
    const location = await leave(visitor, way);
    expect(new URL(location).searchParams.get("prompt")).toBe("login");
    const stale = { claims: { email: "stale@acme.test", email_verified: true, auth_time: 1_000_000_000 } };
    expect((await visitor.follow(upstream.signIn(location, "stale", stale))).status).toBe(403);
  });

  test("has proved who they are when they did so at the provider, which then must ask them again", async () => {
    const visitor = aVisitor();
    const proved = Math.floor(Date.now() / 1000) - 3_600;
    const earlier = { claims: { email: "earlier@acme.test", email_verified: true, auth_time: proved + 0.5 } }; // RFC 7519 §2
    const page = await visitor.follow(authorizePath({ prompt: "login" }));
    await arrive(visitor, "earlier", earlier); // not by the button of the request
    const asked = await visitor.follow(new URL(page.url).pathname.replace("/login", "/consent") + new URL(page.url).search);
    expect(new URL(asked.url).pathname).toBe("/login");
    const away = /href="(\/signin\/acme[^"]*)"/.exec(asked.html)?.[1] ?? "";
    expect(new URL(await leave(visitor, away.replaceAll("&amp;", "&"))).searchParams.get("prompt")).toBe("login");
    const at = "select extract(epoch from proved_at)::int as at from sessions join users on users.id = user_id where email_key = $1";
    expect(await runText(server.database.sql, at, ["earlier@acme.test"])).toEqual([{ at: proved }]);
    expect((await visitor.follow("/account/security/password")).url).toContain("/login");
  });

  test.for([
    ["an address that is not verified", "acme", { claims: { email: "unverified@acme.test", email_verified: false } }],
    ["an address of another domain", "acme", verified("someone@else.test")],
    ["a connection that is trusted for no domain", "other", verified("someone@acme.test")],
    ["no address", "acme", {}],
  ] as const)("gets no account for %s", async ([, name, answer]) => {
    const page = await arrive(aVisitor(), "stranger", answer, `/signin/${name}`);
    expect([page.status, page.html.includes("No account is connected")]).toEqual([403, true]);
    expect(await runText(server.database.sql, "select 1 from identity_links where subject = 'stranger'", [])).toEqual([]);
  });

  test("does not get into an account with the same address", async () => {
    await withPassword("taken@acme.test");
    const page = await arrive(aVisitor(), "impostor", verified("taken@acme.test"));
    expect([page.status, page.html.includes("You already have an account")]).toEqual([403, true]);
    expect((await aVisitor().follow("/account")).url).toContain("/login");
  });

  test("is sent to the provider of the domain when no password is typed", async () => {
    const visitor = aVisitor();
    const sent = await visitor.submit(await visitor.follow("/login"), { email: "bea@acme.test", password: "" });
    expect([new URL(sent.url).origin, new URL(sent.url).searchParams.get("login_hint")]).toEqual([upstream.url, "bea@acme.test"]);
  });

  test("gets one account of 64 arrivals at once", async () => {
    const arriveAtOnce = async () => {
      const visitors = Array.from({ length: 64 }, aVisitor);
      const paths: string[] = [];
      for (const visitor of visitors)
        paths.push(upstream.signIn(await leave(visitor), "raced", verified(`raced${paths.length % 2}@acme.test`)));
      const pages = await Promise.all(visitors.map((visitor, index) => visitor.follow(paths[index] ?? "")));
      return pages.filter(({ url }) => url === `${server.url}/account`).length;
    };
    await expect.poll(arriveAtOnce).toBeGreaterThan(0); // all of them may wait in vain for the provider, on a busy machine
    expect(await runText(server.database.sql, "select 1 from users where email_key like 'raced%'", [])).toHaveLength(1);
    expect(await runText(server.database.sql, "select 1 from identity_links where subject = 'raced'", [])).toHaveLength(1);
  });
});

describe("a hostile provider signs no one in", () => {
  const good = { email: "victim@acme.test", email_verified: true };
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const unsigned = (claims: object) => `${encoded({ alg: "none" })}.${encoded(claims)}.`;
  const signedBySecret = (claims: object) => {
    const input = `${encoded({ alg: "HS256", kid: "upstream-key" })}.${encoded(claims)}`;
    return `${input}.${createHmac("sha256", "upstream-secret").update(input).digest("base64url")}`;
  };
  const hostile: readonly (readonly [what: string, answer: Answer, reason: string])[] = [
    ["another issuer in the ID token", { claims: { ...good, iss: "https://evil.test" } }, "upstream_"],
    ["no nonce", { claims: { ...good, nonce: undefined } }, "upstream_"],
    ["another nonce", { claims: { ...good, nonce: "x" } }, "upstream_"],
    ["another audience", { claims: { ...good, aud: "them" } }, "upstream_"],
    ["a second audience without azp", { claims: { ...good, aud: ["us", "them"] } }, "upstream_"],
    ["another party", { claims: { ...good, azp: "them" } }, "upstream_of_another_party"],
    ["an expired ID token", { claims: { ...good, exp: 1_000_000_000 } }, "upstream_"],
    ["a signature by another key", { claims: good, signedBy: keyFor("ES256", "upstream-key") }, "upstream_"],
    ["an unknown key", { claims: good, idToken: (claims, key) => jws(claims, key, { kid: "other" }) }, "upstream_"],
    ["no signature", { claims: good, idToken: unsigned }, "upstream_"],
    ["a signature by the client secret", { claims: good, idToken: signedBySecret }, "upstream_"],
    ["user information about another subject", { userinfo: { ...good, sub: "other" } }, "upstream_"],
    ["a subject of 300 characters", { claims: { ...good, sub: "x".repeat(300) } }, "upstream_subject_invalid"],
    ["a response of another issuer", { claims: good, response: { iss: "https://evil.test" } }, "upstream_"],
    ["a huge token response", { claims: good, padding: 400_000 }, "upstream_too_large"],
    ["an error", { response: { error: "access_denied" } }, "upstream_denied"],
    ["a server error", { status: 500 }, "upstream_unreachable"],
    ["silence", { silent: true }, "upstream_unreachable"],
  ];
  test.for(hostile)("%s", async ([, answer, reason]) => {
    const subject = `hostile${++count}`;
    const page = await arrive(aVisitor(), subject, answer);
    expect([page.status, page.html.includes("did not work")]).toEqual([reason === "upstream_unreachable" ? 503 : 403, true]);
    const [last] = await runText<{ reason: string }>(
      server.database.sql,
      "select reason from audit_records where event = 'session.refused' order by id desc limit 1",
      [],
    );
    expect(last?.reason).toMatch(new RegExp(`^${reason}`));
    expect(await runText(server.database.sql, "select 1 from identity_links where subject = $1", [subject])).toEqual([]);
  });

  test("a response that comes back in another browser, a second time, or with another state is refused", async () => {
    const visitor = aVisitor();
    const path = upstream.signIn(await leave(visitor), "bound", verified("bound@acme.test"));
    expect((await aVisitor().follow(path)).status).toBe(400);
    expect((await visitor.follow(path.replace(/state=[^&]*/, "state=x"))).status).toBe(400);
    expect((await visitor.follow(path)).url).toBe(`${server.url}/account`);
    expect((await visitor.follow(path)).status).toBe(400);
  });

  test("a response that comes back to another connection is refused", async () => {
    const visitor = aVisitor();
    const path = upstream.signIn(await leave(visitor), "mixed", verified("mixed@acme.test"));
    expect((await visitor.follow(path.replace("/signin/acme/", "/signin/other/"))).status).toBe(403);
  });
});

describe("a signed-in user", () => {
  const security = (visitor: Visitor) => visitor.follow("/account/security");

  test("links an account with the password, signs in with it, and unlinks it", async () => {
    const visitor = await withPassword("linker@else.test");
    const left = await visitor.submit(await security(visitor), { link: "acme" });
    const linked = await visitor.follow(upstream.signIn(left.url, "linker", verified("linker@private.test")));
    expect(linked.html).toContain("The account is connected.");
    expect(linked.html).toContain("linker@private.test");
    const again = await arrive(aVisitor(), "linker", {});
    expect([again.url, again.html.includes("linker@else.test")]).toEqual([`${server.url}/account`, true]);
    const before = await security(visitor);
    for (const _click of [1, 2])
      expect((await visitor.submit(before, { unlink: `${upstream.url} linker` })).html).toContain("The account is disconnected.");
    expect((await arrive(aVisitor(), "linker", {})).status).toBe(403);
    const mails = await runText(
      server.database.sql,
      "select event from audit_records where event like 'identity.%' and reason = 'by_user' order by event",
      [],
    );
    expect(mails).toEqual([{ event: "identity.linked" }, { event: "identity.unlinked" }]);
  });

  test("whose account was disabled reads whom to ask", async () => {
    const visitor = await withPassword("off@else.test");
    const left = await visitor.submit(await security(visitor), { link: "acme" });
    await visitor.follow(upstream.signIn(left.url, "off", verified("off@private.test")));
    await runText(server.database.sql, "update users set enabled = false where email = 'off@else.test'", []);
    const { html } = await arrive(aVisitor(), "off", {});
    expect(html).toContain(`This account cannot sign in. Ask an administrator of ${new URL(server.url).host}.`);
  });

  test("cannot link the identity of another user, nor have it linked in another session", async () => {
    await arrive(aVisitor(), "owner", verified("owner@acme.test"));
    const visitor = await withPassword("thief@else.test");
    const left = await visitor.submit(await security(visitor), { link: "acme" });
    expect((await visitor.follow(upstream.signIn(left.url, "owner", {}))).status).toBe(409);
    const second = await visitor.submit(await security(visitor), { link: "acme" });
    await visitor.submit(await visitor.follow("/logout"), {
      form_token: (await visitor.follow("/logout")).html.match(/name="form_token" value="([^"]*)"/)?.[1] ?? "",
    });
    const late = await visitor.follow(upstream.signIn(second.url, "late", {}));
    expect([late.status, late.html.includes("so Acme was not connected")]).toEqual([401, true]);
  });

  test("who signs in again while the provider answers reads that nothing was connected, and returns to Security", async () => {
    const visitor = await withPassword("renewed@else.test");
    const left = await visitor.submit(await security(visitor), { link: "acme" });
    const page = await visitor.follow("/logout");
    await visitor.submit(page, { form_token: page.html.match(/name="form_token" value="([^"]*)"/)?.[1] ?? "" });
    await visitor.submit(await visitor.follow("/login"), { email: "renewed@else.test", password: PASSWORD });
    const { html } = await visitor.follow(upstream.signIn(left.url, "renewed", verified("renewed@private.test")));
    expect(html).toContain("Your session has ended since, so Acme was not connected.");
    expect([html.includes('href="/account/security"'), html.includes("Go back to the app")]).toEqual([true, false]);
    expect((await security(visitor)).html).not.toContain("renewed@private.test");
  });
});

describe("a provider that cannot ask again", () => {
  test("is no dead end for a user who is signed in: they sign out first", async () => {
    const { connections } = await operatorAt(server.url);
    await connections.create.mutate({ preset: "github", clientId: "us", clientSecret: "secret" });
    const user = await withPassword("only@else.test");
    const signedIn = await user.follow("/signin/github");
    expect([signedIn.status, signedIn.html.includes("or sign out first and then sign in with GitHub.")]).toEqual([403, true]);
    const asked = await user.follow((await user.follow(authorizePath({ prompt: "login" }))).url.replace("/login", "/signin/github"));
    expect([asked.status, asked.html.includes("GitHub cannot confirm that it is you. Sign in another way.")]).toEqual([403, true]);
    const visitor = aVisitor();
    const page = await visitor.follow(authorizePath({ prompt: "login" }));
    const signedOut = await visitor.follow(page.url.replace("/login", "/signin/github"));
    expect([signedOut.status, signedOut.html.includes("GitHub cannot confirm that it is you. Sign in another way.")]).toEqual([403, true]);
    await connections.remove.mutate({ name: "github" });
  });

  test("is asked where the application only wants an account to be chosen", async () => {
    const { connections } = await operatorAt(server.url);
    await connections.create.mutate({ preset: "github", clientId: "us", clientSecret: "secret" });
    const visitor = aVisitor();
    const page = await visitor.follow(authorizePath({ prompt: "select_account" }));
    const away = await visitor.request(page.url.replace("/login", "/signin/github"));
    expect([away.status, away.headers.get("location")]).toEqual([
      302,
      expect.stringContaining("https://github.com/login/oauth/authorize?"),
    ]);
    await connections.remove.mutate({ name: "github" });
  });

  test("leaves no more audit records of one address than wrong passwords do", async () => {
    const { connections } = await operatorAt(server.url);
    await connections.create.mutate({ preset: "github", clientId: "us", clientSecret: "secret" });
    const refused = async () =>
      (await runText(server.database.sql, "select 1 from audit_records where reason = 'upstream_cannot_confirm'", [])).length;
    const [before, visitor] = [await refused(), aVisitor()];
    const page = await visitor.follow(authorizePath({ prompt: "login" }));
    const target = page.url.replace("/login", "/signin/github");
    for (let n = 0; n < 11; n++) await Promise.all(Array.from({ length: 10 }, () => visitor.request(target)));
    expect((await refused()) - before).toBeLessThan(110);
    expect((await refused()) - before).toBeGreaterThanOrEqual(100);
    await connections.remove.mutate({ name: "github" });
  });
});

test("where domains decide, a user whose address is not confirmed reads so after a provider", async () => {
  const strict = await startServer({
    env: { SIGN_UP: "domains", SIGN_UP_DOMAINS: "acme.test" },
    provision: {
      connections: [{ issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret", name: "acme", domains: ["acme.test"] }],
    },
  });
  try {
    const visit = async () => {
      const visitor = aBrowser(strict.url, { accept: "text/html" });
      return visitor.follow(upstream.signIn(await leave(visitor), "unproved", verified("unproved@acme.test")));
    };
    await visit();
    await runText(strict.database.sql, "update users set email_verified = false", []);
    const refused = await visit();
    expect([refused.status, refused.html.includes("Your e-mail address is not confirmed yet.")]).toEqual([403, true]);
    expect(await runText(strict.database.sql, "select reason from audit_records where event = 'session.refused'", [])).toEqual([
      { reason: "email_unverified" },
    ]);
  } finally {
    await strict.close();
  }
});

describe("operators", () => {
  test("see the identities of a user", async () => {
    await arrive(aVisitor(), "seen", verified("seen@acme.test"));
    const operator = await operatorAt(server.url);
    const [user] = (await operator.users.list.query({ search: "seen@acme.test" })).users;
    const { identities } = await operator.connections.identities.query({ userId: user?.id ?? "" });
    expect(identities).toMatchObject([{ issuer: upstream.url, subject: "seen", title: "Acme" }]);
    const unknown = operator.connections.identities.query({ userId: "00000000-0000-7000-8000-00000000ffff" });
    expect(await refusedWith(unknown)).toMatchObject({ error: "not_found" });
  });

  test("test, change and remove a connection, and never see its secret", async () => {
    const { connections } = await operatorAt(server.url);
    expect(await connections.test.query({ name: "acme" })).toEqual({ works: true, stage: null, reason: null });
    const made = await connections.create.mutate({ name: "wrong", issuer: upstream.url, clientId: "us", clientSecret: "not-the-secret" });
    expect([made.redirectUri, JSON.stringify(made).includes("not-the-secret")]).toEqual([`${server.url}/signin/wrong/callback`, false]);
    expect(await connections.test.query({ name: "wrong" })).toEqual({ works: false, stage: "credentials", reason: "invalid_client" });
    await connections.update.mutate({ name: "wrong", clientSecret: "upstream-secret", enabled: false });
    expect(await connections.test.query({ name: "wrong" })).toMatchObject({ works: true });
    expect((await aVisitor().follow("/signin/wrong")).status).toBe(404);
    const lost = await connections.create.mutate({ name: "lost", issuer: "http://localhost:9", clientId: "us" });
    expect(await connections.test.query({ name: lost.name })).toMatchObject({ works: false, stage: "metadata" });
    const others = [`${upstream.url}/`, upstream.url.replace("localhost", "127.0.0.1")];
    for (const [index, issuer] of others.entries()) {
      const { name } = await connections.create.mutate({ name: `differs-${index}`, issuer, clientId: "us" });
      expect(await connections.test.query({ name })).toEqual({ works: false, stage: "metadata", reason: "document_of_another_issuer" });
    }
    for (const name of ["wrong", "lost", "differs-0", "differs-1"]) await connections.remove.mutate({ name });
    expect((await connections.list.query()).connections.map(({ name }) => name)).toEqual(["acme", "other"]);
    expect(await refusedWith(connections.get.query({ name: "lost" }))).toMatchObject({ error: "not_found" });
    const keyed = await connections.create.mutate({ preset: "google", clientId: "us", authMethod: "private_key_jwt" });
    expect(keyed.publicKey).toMatchObject({ kty: "EC", crv: "P-256" });
    expect(keyed.publicKey).not.toHaveProperty("d");
    await connections.remove.mutate({ name: "google" });
  });
});
