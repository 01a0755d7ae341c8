import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** The default limit. */
const { points, seconds } = loadConfig({ NODE_ENV: "test" }).signUp.rate;

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    env: { TRUST_PROXY: "true", SIGN_UP_RATE_LIMIT: String(points), SIGN_UP_RATE_WINDOW: String(seconds) },
  });
});
afterAll(() => server.close());

test("docs/protocol.md#limits: an address may sign up 10 times an hour; the next request returns 429 with Retry-After", async () => {
  const signUp = (address: string) =>
    fetch(`${server.config.issuer}/auth/register`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      // An unknown realm is refused after the limit is counted and before the password is hashed.
      body: JSON.stringify({
        email: "a@example.test",
        password: "correct horse battery",
        realmId: "01900000-0000-7000-8000-00000000dead",
      }),
    });
  const statuses: number[] = [];
  for (let round = 0; round < 10; round++) statuses.push((await signUp("192.0.2.1")).status);
  expect(statuses).toEqual(Array(10).fill(400));
  const refused = await signUp("192.0.2.1");
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3500);
  expect((await signUp("192.0.2.2")).status).toBe(400);
});
