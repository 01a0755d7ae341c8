import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import type { CredentialIssuer } from "../support/credential-issuer.ts";
import { runText } from "../support/database.ts";
import type { Linking } from "../support/linking.ts";
import type { TestServer } from "../support/server.ts";
import { aWallet } from "../support/wallet.ts";
import { startWalletServer } from "../support/wallet-server.ts";

let issuer: CredentialIssuer;
let server: TestServer;
let at: Linking;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ issuer, server, at, close } = await startWalletServer());
});
afterAll(() => close());
const MESSAGE = { message: expect.any(String) };

describe("POST /auth/link/wallet", () => {
  test("starts an OID4VP presentation request in linking mode: handle, invocation_uri and expires_at, in seconds", async () => {
    const user = await at.aUser();
    const response = await at.start(user, { "x-csrf-token": user.csrf });
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const body = (await response.json()) as { handle: string; invocation_uri: string; expires_at: number };
    expect(Object.keys(body).sort()).toEqual(["expires_at", "handle", "invocation_uri"]);
    expect(Math.abs(body.expires_at - Date.now() / 1_000 - 300)).toBeLessThan(30);
    expect(Number.isInteger(body.expires_at)).toBe(true);
    expect(body.invocation_uri).not.toContain(body.handle);
    expect(await at.poll(user, body.handle)).toEqual({ status: 200, body: { status: "pending" } });
  });

  test("a request without a session returns 401 with only a message", async () => {
    const response = await at.start({ browser: aBrowser(server.url) }, { "x-csrf-token": "x" });
    expect([response.status, await response.json()]).toEqual([401, MESSAGE]);
  });

  test("a request without the X-CSRF-Token of GET /consents/ returns 401 with only a message", async () => {
    const [user, other] = [await at.aUser(), await at.aUser()];
    for (const headers of [{}, { "x-csrf-token": "" }, { "x-csrf-token": other.csrf }, { "x-csrf-token": `${user.csrf}x` }]) {
      const response = await at.start(user, headers);
      expect([response.status, await response.json()]).toEqual([401, MESSAGE]);
    }
  });

  test("handle, state and nonce are different secrets, new for each link", async () => {
    const user = await at.aUser();
    const wallet = aWallet();
    const links = [await at.begin(user), await at.begin(user)];
    const asked = await Promise.all(links.map(({ invocation_uri }) => wallet.open(invocation_uri)));
    const secrets = links.flatMap(({ handle }, index) => [handle, asked[index]?.state, asked[index]?.nonce]);
    expect(new Set(secrets).size).toBe(6);
    for (const secret of secrets) expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});

describe("the request (OID4VP 1.0 §5)", () => {
  test("is sent by value and unsigned without a certificate, with the response URI as client_id", async () => {
    const { invocation_uri } = await at.begin(await at.aUser());
    const uri = new URL(invocation_uri);
    const response = `${server.url}/auth/link/wallet/response`;
    expect(`${uri.protocol}//${uri.host}`).toBe("openid4vp://authorize");
    expect(Object.fromEntries(uri.searchParams)).toEqual({
      client_id: `redirect_uri:${response}`,
      response_type: "vp_token",
      response_mode: "direct_post",
      response_uri: response,
      nonce: expect.any(String),
      state: expect.any(String),
      dcql_query: expect.any(String),
      client_metadata: expect.any(String),
    });
    expect(JSON.parse(uri.searchParams.get("dcql_query") ?? "")).toEqual({
      credentials: [{ id: "link", format: "dc+sd-jwt", meta: { vct_values: ["urn:eudi:pid:1"] }, claims: [{ path: ["sub"] }] }],
    });
    expect(JSON.parse(uri.searchParams.get("client_metadata") ?? "")).toEqual({
      vp_formats_supported: { "dc+sd-jwt": { "sd-jwt_alg_values": ["ES256", "EdDSA"], "kb-jwt_alg_values": ["ES256", "EdDSA"] } },
    });
  });

  test("has no request object if it is unsigned: its path returns 404", async () => {
    const { invocation_uri } = await at.begin(await at.aUser());
    const { state } = await aWallet().open(invocation_uri);
    const response = await fetch(`${server.url}/auth/link/wallet/request/${state}`);
    expect([response.status, await response.json()]).toEqual([404, MESSAGE]);
  });
});

describe("GET /auth/link/wallet/{handle}", () => {
  test("completes the link when the presentation response has arrived: a second credential record under the same user id", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const { handle, invocation_uri } = await at.begin(user);
    const answered = await wallet.answer(invocation_uri, await issuer.issue({ holder: wallet.holder, claims: { sub: "completes" } }));
    expect([answered.status, answered.body, answered.headers.get("cache-control")]).toEqual([200, {}, "no-store"]);
    const credentials = () =>
      runText(server.database.sql, "select type, issuer, subject from credentials where user_id = $1::uuid order by type", [user.id]);
    for (const path of [`/auth/link/wallet/${handle}`, `/account/wallet?handle=${handle}`])
      expect((await user.browser.request(path, { method: "HEAD" })).status).toBe(200);
    expect(await credentials()).toHaveLength(1); // HEAD completes nothing
    expect(await at.poll(user, handle)).toEqual({ status: 200, body: { status: "linked" } });
    expect(await credentials()).toEqual([
      { type: "password", issuer: null, subject: null },
      { type: "wallet", issuer: issuer.url, subject: "completes" },
    ]);
    expect(await at.poll(user, handle)).toEqual({ status: 200, body: { status: "linked" } });
  });

  test("an unknown handle and another user's handle return the same 404", async () => {
    const [user, other] = [await at.aUser(), await at.aUser()];
    const { handle } = await at.begin(user);
    const [theirs, unknown] = [await at.poll(other, handle), await at.poll(other, "x".repeat(43))];
    expect(theirs).toEqual({ status: 404, body: MESSAGE });
    expect(theirs).toEqual(unknown);
  });

  test("a request without a session returns 401 with only a message", async () => {
    const { handle } = await at.begin(await at.aUser());
    expect(await at.poll({ browser: aBrowser(server.url) }, handle)).toEqual({ status: 401, body: MESSAGE });
  });

  test("another session of the same user reads the link but does not complete it", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const elsewhere = await at.signIn(user.email, "correct horse battery");
    const { handle, invocation_uri } = await at.begin(user);
    await wallet.answer(invocation_uri, await issuer.issue({ holder: wallet.holder, claims: { sub: "elsewhere" } }));
    expect(await at.poll(elsewhere, handle)).toEqual({ status: 200, body: { status: "pending" } });
    expect(await at.poll(user, handle)).toEqual({ status: 200, body: { status: "linked" } });
    expect(await at.poll(elsewhere, handle)).toEqual({ status: 200, body: { status: "linked" } });
  });

  test("64 concurrent polls return linked and write one audit record", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const { handle, invocation_uri } = await at.begin(user);
    await wallet.answer(invocation_uri, await issuer.issue({ holder: wallet.holder, claims: { sub: "polls" } }));
    const polls = await Promise.all(Array.from({ length: 64 }, () => at.poll(user, handle)));
    expect(new Set(polls.map(({ body }) => body.status))).toEqual(new Set(["linked"]));
    const records = await runText(
      server.database.sql,
      "select 1 as one from audit_records where event = 'wallet.linked' and user_id = $1",
      [user.id],
    );
    expect(records).toHaveLength(1);
  });
});

describe("the states of a link", () => {
  test("conflict: the identity is linked to another account, which keeps it", async () => {
    const [owner, other, wallet] = [await at.aUser(), await at.aUser(), aWallet()];
    const credential = await issuer.issue({ holder: wallet.holder, claims: { sub: "conflict" } });
    expect((await at.link(owner, wallet, credential)).body.status).toBe("linked");
    expect(await at.link(other, wallet, credential)).toEqual({ status: 200, body: { status: "conflict", message: expect.any(String) } });
    expect(await at.refusals(other)).toEqual(["identity_of_another"]);
    expect((await at.link(owner, wallet, credential)).body.status).toBe("linked");
  });

  test("conflict: the account is linked to another identity", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const credential = (sub: string) => issuer.issue({ holder: wallet.holder, claims: { sub } });
    await at.link(user, wallet, await credential("one"));
    expect(await at.link(user, wallet, await credential("two"))).toMatchObject({
      body: { status: "conflict", message: expect.any(String) },
    });
    expect(await at.refusals(user)).toEqual(["account_has_wallet"]);
  });

  test("rejected: the user declined in the wallet", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const { handle, invocation_uri } = await at.begin(user);
    const declined = await wallet.decline(invocation_uri);
    expect([declined.status, declined.body]).toEqual([200, {}]);
    for (const _ of [1, 2])
      expect(await at.poll(user, handle)).toEqual({ status: 200, body: { status: "rejected", message: "The wallet declined." } });
    expect(await at.refusals(user)).toEqual(["wallet_access_denied"]);
  });

  test("expired: the link expires before or after the wallet responds, and accepts no response then", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const credential = await issuer.issue({ holder: wallet.holder, claims: { sub: "late" } });
    const [unanswered, answered] = [await at.begin(user), await at.begin(user)];
    await wallet.answer(answered.invocation_uri, credential);
    await at.letExpire(user);
    expect((await wallet.answer(unanswered.invocation_uri, credential)).status).toBe(400);
    for (const { handle } of [unanswered, answered, answered])
      expect(await at.poll(user, handle)).toEqual({ status: 200, body: { status: "expired", message: expect.any(String) } });
    expect(await at.refusals(user)).toEqual(["link_expired", "link_expired"]);
  });

  test("a wallet presentation never resolves or creates an account", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const count = () => runText<{ n: number }>(server.database.sql, "select count(*)::int as n from users");
    const before = await count();
    const { invocation_uri } = await at.begin(user);
    const answered = await wallet.answer(
      invocation_uri,
      await issuer.issue({ holder: wallet.holder, claims: { sub: "unknown", email: user.email, email_verified: true } }),
    );
    expect([answered.headers.getSetCookie(), await count()]).toEqual([[], before]);
  });
});

test("the wallet of a deleted account can be linked to another account", async () => {
  const [deleted, next, wallet] = [await at.aUser(), await at.aUser(), aWallet()];
  const credential = await issuer.issue({ holder: wallet.holder, claims: { sub: "inherited" } });
  await at.link(deleted, wallet, credential);
  await runText(server.database.sql, "delete from users where id = $1::uuid", [deleted.id]);
  expect((await at.link(next, wallet, credential)).body.status).toBe("linked");
});

test("the OpenAPI document has the wallet paths with the statuses of docs/protocol.md#error-bodies, and 429 for too many starts", async () => {
  const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { responses: object }>>;
  };
  expect(Object.keys(paths["/auth/link/wallet"]?.post?.responses ?? {})).toEqual(["200", "401", "404", "429", "500"]);
  expect(Object.keys(paths["/auth/link/wallet/{handle}"]?.get?.responses ?? {})).toEqual(["200", "401", "404", "500"]);
  expect(paths).toHaveProperty(["/auth/link/wallet/response", "post"]);
});
