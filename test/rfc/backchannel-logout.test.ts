import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminAs } from "../support/admin.ts";
import { jws, keyFor } from "../support/assertions.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { claimsOf } from "../support/flow.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const received: string[] = [];
/** Statuses of the next responses; 200 when there is none. */
const statuses: number[] = [];
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const form = new URLSearchParams(Buffer.concat(chunks).toString());
  received.push(form.get("logout_token") ?? "");
  response.writeHead(statuses.shift() ?? 200).end();
});

/** Requests to a client that does not answer. */
let unanswered = 0;
const silent = createServer(() => {
  unanswered += 1;
});

let server: TestServer;
let upstream: Upstream;
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  upstream = await startUpstream();
  const notified = (of: Server) => ({
    environment: "development",
    backchannelLogoutUri: `http://localhost:${(of.address() as AddressInfo).port}/logout`,
  });
  const clients = [
    ...PROVISIONED.clients.map((client) => (client.clientId === "web" ? { ...client, ...notified(receiver) } : client)),
    ...PROVISIONED.clients.flatMap((client) => (client.clientId === "web" ? [{ ...client, clientId: "silent", ...notified(silent) }] : [])),
  ];
  const acme = { name: "acme", issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret", domains: ["acme.test"] };
  server = await startServer({ provision: { ...PROVISIONED, clients, connections: [acme] } });
});
afterAll(async () => {
  await server.close();
  await upstream.close();
  receiver.close();
  silent.close();
  silent.closeAllConnections();
});

/** The logout tokens that arrive, once there are that many. */
async function logouts(count: number): Promise<readonly string[]> {
  await expect.poll(() => received.length).toBeGreaterThanOrEqual(count);
  return received.splice(0);
}

const verified = (token: string) =>
  jwtVerify(token, createRemoteJWKSet(new URL(`${server.url}/.well-known/jwks.json`)), {
    ...{ issuer: server.url, audience: "web", typ: "logout+jwt", requiredClaims: ["jti", "exp", "iat", "events", "sid", "sub"] },
  }).then(({ payload }) => payload);

/** A user with an ID token of the client that is notified. */
async function signedIn() {
  const user = await server.signedInUser();
  const tokens = await server.tokens(server.clients.web, user.browser, { scope: "openid" });
  return { ...user, claims: claimsOf(tokens.id_token) };
}

const pending = () => runText(server.database.sql, "select attempts from logout_deliveries");

describe("OpenID Connect Back-Channel Logout 1.0", () => {
  test("is announced by the metadata", async () => {
    const { body } = await server.get("/.well-known/openid-configuration");
    expect([body.backchannel_logout_supported, body.backchannel_logout_session_supported]).toEqual([true, true]);
  });

  test("a sign-out sends the client a logout token that names user and session, and no other client", async () => {
    const user = await signedIn();
    await server.tokens(server.clients.other, user.browser, { scope: "openid" });
    await user.browser.request(
      `/logout?id_token_hint=${(await server.tokens(server.clients.web, user.browser, { scope: "openid" })).id_token}`,
    );
    const [token = "", ...more] = await logouts(1);
    const claims = await verified(token);
    expect([claims.sub, claims.sid, claims.nonce, more]).toEqual([user.id, user.claims.sid, undefined, []]);
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBeLessThanOrEqual(120);
    expect(claims.events).toEqual({ "http://schemas.openid.net/event/backchannel-logout": {} });
    expect(await pending()).toEqual([]);
  });

  test("only clients that are notified get sid in ID tokens", async () => {
    const { browser, claims } = await signedIn();
    expect(claims.sid).toMatch(/^[0-9a-f-]{36}$/);
    expect(claimsOf((await server.tokens(server.clients.other, browser, { scope: "openid" })).id_token)).not.toHaveProperty("sid");
  });

  test.for(["a sign-out everywhere", "a disabled account"] as const)("%s notifies the client too", async (how) => {
    const user = await signedIn();
    if (how === "a disabled account") {
      await (await adminAs(server.url)).admin.operator.users.disable.mutate({ id: user.id });
    } else {
      await user.browser.json("/auth/logout", {}, "POST", { authorization: `Bearer ${user.login.access_token}` });
    }
    expect((await verified((await logouts(1))[0] ?? "")).sub).toBe(user.id);
  });

  test("a client that answers with an error is tried again later; one that refuses is not", async () => {
    statuses.push(500, 400);
    for (const left of [[{ attempts: 1 }], []]) {
      const user = await signedIn();
      await user.browser.json("/auth/logout", {}, "POST", { authorization: `Bearer ${user.login.access_token}` });
      expect(await logouts(1)).toHaveLength(1);
      await expect.poll(pending).toEqual(left);
      await runText(server.database.sql, "delete from logout_deliveries");
    }
  });

  test("a client that does not answer delays other clients by one request, however much is due to it", async () => {
    const user = await signedIn();
    const due = (clientId: string, count: number) =>
      runText(
        server.database.sql,
        `insert into logout_deliveries (client_id, user_id, session_id) select $1, $2::uuid, $3::uuid from generate_series(1, ${count})`,
        [clientId, user.id, user.claims.sid],
      );
    await due("silent", 24);
    await due("web", 1);
    await expect.poll(() => received.splice(0)).toHaveLength(1);
    // Eight at a time; on a busy machine some time out before they arrive, or the other client's own does, which follows 5 s later.
    const postponed = server.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === "logout_postponed");
    const turns = 1 + postponed.filter(({ clientId, reason }) => clientId === "web" && reason === "too_slow").length;
    expect(unanswered).toBeGreaterThan(0);
    expect(unanswered, server.logged.join("\n")).toBeLessThanOrEqual(8 * turns);
    await expect.poll(() => runText(server.database.sql, "select 1 from logout_deliveries where attempts = 0")).toEqual([]);
    await runText(server.database.sql, "delete from logout_deliveries");
  });

  test("a code that is redeemed after the sign-out is followed by a notification", async () => {
    const { browser, id } = await server.signedInUser();
    const code = await server.code(server.clients.web, browser, { scope: "openid" });
    await runText(server.database.sql, "update sessions set ended_at = now() where user_id = $1::uuid and ended_at is null", [id]);
    await server.token(server.clients.web, code);
    expect(await logouts(1)).toHaveLength(1);
  });
});

describe("a logout at a provider", () => {
  const EVENTS = { "http://schemas.openid.net/event/backchannel-logout": {} };
  let count = 0;
  const logoutToken = (claims: object, by = upstream.key, header: object = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const honest = { iss: upstream.url, aud: "us", iat: now, exp: now + 120, jti: `jti-${++count}`, events: EVENTS };
    return jws({ ...honest, ...claims }, by, { typ: "logout+jwt", kid: by.jwk.kid, ...header });
  };
  const send = (token: string) => server.form("/signin/acme/logout", { logout_token: token });
  async function arrived(subject: string, sid: string) {
    const browser = aBrowser(server.url);
    const { url } = await browser.follow("/signin/acme");
    await browser.follow(upstream.signIn(url, subject, { claims: { sid, email: `${subject}@acme.test`, email_verified: true } }));
    return browser;
  }
  const isSignedIn = async (browser: ReturnType<typeof aBrowser>) => (await browser.follow("/account")).url === `${server.url}/account`;

  test("ends the sessions of its session, or of its user, and no others", async () => {
    const [one, two, other] = [await arrived("carl", "s1"), await arrived("carl", "s2"), await arrived("dora", "s3")];
    expect((await send(logoutToken({ sub: "carl", sid: "s1" }))).status).toBe(200);
    expect([await isSignedIn(one), await isSignedIn(two), await isSignedIn(other)]).toEqual([false, true, true]);
    expect((await send(logoutToken({ sub: "carl" }))).status).toBe(200);
    expect([await isSignedIn(two), await isSignedIn(other)]).toEqual([false, true]);
  });

  test("ends sessions that a connection started before it was disabled", async () => {
    const browser = await arrived("emil", "s4");
    const { connections } = (await adminAs(server.url)).admin.operator;
    await connections.update.mutate({ name: "acme", enabled: false });
    expect(await isSignedIn(browser)).toBe(true);
    expect((await send(logoutToken({ sub: "emil" }))).status).toBe(200);
    await connections.update.mutate({ name: "acme", enabled: true });
    expect(await isSignedIn(browser)).toBe(false);
  });

  test("works once for each token, of 16 copies at once", async () => {
    const token = logoutToken({ sub: "carl" });
    const answers = await Promise.all(Array.from({ length: 16 }, () => send(token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test.for([
    ["of another issuer", { sub: "dora", iss: "https://evil.test" }],
    ["for another client", { sub: "dora", aud: "them" }],
    ["that is an ID token", { sub: "dora", events: undefined, nonce: "n" }],
    ["with a nonce", { sub: "dora", nonce: "n" }],
    ["without a subject", {}],
    ["without jti", { sub: "dora", jti: undefined }],
    ["that has expired", { sub: "dora", exp: 1_000_000_000 }],
    ["without an expiry", { sub: "dora", exp: undefined }],
    ["of yesterday", { sub: "dora", iat: Math.floor(Date.now() / 1000) - 86_400 }],
    ["of tomorrow", { sub: "dora", iat: Math.floor(Date.now() / 1000) + 86_400 }],
    ["that is valid from tomorrow on", { sub: "dora", nbf: Math.floor(Date.now() / 1000) + 86_400 }],
  ] as const)("is refused by a token %s", async ([, claims]) => {
    expect((await send(logoutToken(claims))).status).toBe(400);
  });

  test("may be for several audiences, and may not have a critical header that is not known", async () => {
    const several = { sub: "dora", aud: ["them", "us"] };
    expect((await send(logoutToken(several))).status).toBe(200);
    expect((await send(logoutToken(several, upstream.key, { crit: ["x"], x: 1 }))).status).toBe(400);
  });

  test("is refused by rubbish, and at an unknown connection", async () => {
    expect((await send("rubbish")).status).toBe(400);
    expect((await server.form("/signin/none/logout", { logout_token: "x" })).status).toBe(404);
  });

  test("is known by a key that has replaced another one under its key id, and by one of either name of Ed25519", async () => {
    expect((await send(logoutToken({ sub: "dora" }))).status).toBe(200);
    const [successor, edwards, broken] = [keyFor("ES256", "upstream-key"), keyFor("EdDSA", "edwards"), keyFor("ES256", "broken")];
    upstream.keys = [successor.jwk, { ...edwards.jwk, alg: "Ed25519" }, { ...broken.jwk, x: broken.jwk.y }];
    expect((await send(logoutToken({ sub: "dora" }, successor))).status).toBe(200);
    expect((await send(logoutToken({ sub: "dora" }, edwards))).status).toBe(200);
    expect((await send(logoutToken({ sub: "dora" }))).status).toBe(400);
    // A key of the provider that is none is no fault of this server.
    expect([(await send(logoutToken({ sub: "dora" }, broken))).status, server.faults()]).toEqual([400, []]);
  });
});
