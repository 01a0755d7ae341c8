import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sweep } from "../../src/store/sweep.ts";
import { formsOf } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import type { ServerDriver, TestClient } from "../support/flow.ts";
import { type Publisher, publisher } from "../support/publisher.ts";
import { freshRedis } from "../support/redis.ts";
import { PROVISIONED } from "../support/server.ts";
import { startTwoFronts } from "../support/two-fronts.ts";

const shared = process.env.TEST_REDIS_URL !== undefined;
let fronts: Awaited<ReturnType<typeof startTwoFronts>>;
let site: Publisher;
beforeAll(async () => {
  const redis = await freshRedis();
  site = await publisher();
  fronts = await startTwoFronts(PROVISIONED, { ...(redis !== undefined && { REDIS_URL: redis }), REGISTER_CLIENT_RATE_LIMIT: "30" });
});
afterAll(async () => {
  await fronts.close();
  await site.close();
});

const both = <Answer>(ask: (front: ServerDriver) => Promise<Answer>) => Promise.all([ask(fronts.here), ask(fronts.there)]);
const times = <Answer>(count: number, ask: () => Promise<Answer>) => Promise.all(Array.from({ length: count }, ask));

const register = (front: ServerDriver) =>
  fetch(`${front.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ grant_types: ["client_credentials"] }),
  });
const registered = async (front: ServerDriver): Promise<TestClient> => {
  const { client_id, client_secret } = (await (await register(front)).json()) as { client_id: string; client_secret: string };
  return { clientId: client_id, secret: client_secret, redirectUri: "" };
};
const statusOf = async (front: ServerDriver, client: TestClient) =>
  (await front.token(client, { grant_type: "client_credentials", scope: "profile" })).status;

test("docs/protocol.md#registration: a registered client that never got a token is deleted after a day, one that got a token stays, and both fronts agree", async () => {
  const [unused, used] = [await registered(fronts.here), await registered(fronts.there)];
  expect(await statusOf(fronts.here, used)).toBe(200);
  await runText(fronts.database.sql, "update clients set created_at = created_at - interval '25 hours' where origin = 'dynamic'");
  await Promise.all([sweep(fronts.database.sql), sweep(fronts.database.sql)]);
  expect(await both((front) => statusOf(front, unused))).toEqual([401, 401]);
  expect(await both((front) => statusOf(front, used))).toEqual([200, 200]);
});

test("16 concurrent submissions of one consent form over both fronts return the same code", async () => {
  const { browser } = await fronts.here.signedInUser();
  const { challenge, verifier } = fronts.here.pkce();
  const web: TestClient = { clientId: "web", secret: "web-secret", redirectUri: "https://app.example.test/cb" };
  for (let round = 0; round < 5; round += 1) {
    const asked = fronts.here.authorizeUrl(web, { code_challenge: challenge, scope: "openid", prompt: "consent" });
    const page = await browser.follow(asked);
    const [form] = formsOf(page.html, page.url);
    const body = new URLSearchParams({ ...form?.fields, decision: "approve" });
    const headers = { origin: fronts.here.url };
    const answers = (
      await both((front) => times(8, () => browser.request(`${front.url}/consent`, { method: "POST", body, headers })))
    ).flat();
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 303));
    const [location = "", ...more] = new Set(answers.map((answer) => answer.headers.get("location") ?? ""));
    expect(more).toEqual([]);
    const code = new URL(location).searchParams.get("code") ?? "";
    const redeemed = await fronts.there.token(web, {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: web.redirectUri,
    });
    expect(redeemed.status).toBe(200);
    const late = await browser.request(`${fronts.there.url}/consent`, { method: "POST", body, headers });
    expect(late.headers.get("location")).toBe(location);
  }
});

if (shared)
  describe("limits and caches that two fronts share in Redis", () => {
    test("docs/protocol.md#limits: both fronts together accept 30 registrations a minute from one address", async () => {
      const answers = (await both((front) => times(20, () => register(front)))).flat();
      // The first test registered two clients.
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(28);
      const refused = await both(register);
      expect(refused.map(({ status }) => status)).toEqual([429, 429]);
      for (const { headers } of refused) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    });

    test("both fronts return 429 to a wrong secret after 100 failures of one client and address, and accept the right secret", async () => {
      const wrong: TestClient = { clientId: "poster", secret: "wrong", redirectUri: "" };
      const form = (front: ServerDriver, client_secret: string) =>
        front.form("/oauth/token", { grant_type: "client_credentials", scope: "notes:read", client_id: wrong.clientId, client_secret });
      const answers = (await both((front) => times(49, () => form(front, "wrong")))).flat();
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
      expect((await both((front) => form(front, "poster-secret"))).map(({ status }) => status)).toEqual([200, 200]);
      for (let more = 0; more < 2; more += 1) await both((front) => form(front, "wrong"));
      expect((await both((front) => form(front, "wrong"))).map(({ status }) => status)).toEqual([429, 429]);
      expect((await both((front) => form(front, "poster-secret"))).map(({ status }) => status)).toEqual([200, 200]);
    });

    test("a client's metadata document is fetched once for both fronts", async () => {
      const clientId = `https://localhost:${site.port}/client.json`;
      site.serveJson({ client_id: clientId, client_name: "Fetched once", redirect_uris: ["https://app.client.example.test/cb"] });
      const client: TestClient = { clientId, redirectUri: "https://app.client.example.test/cb" };
      for (const front of [fronts.here, fronts.there]) {
        const answer = await front.get(front.authorizeUrl(client, { code_challenge: front.pkce().challenge }));
        expect([answer.status, answer.headers.get("location")]).toEqual([302, expect.stringContaining("/login")]);
      }
      expect(site.requests()).toHaveLength(1);
    });
  });
