import { expect, test } from "vitest";
import { startServer } from "../support/server.ts";

/** The status of sign-ups from an address. An unknown realm is refused after the limit is counted and before the password is hashed. */
async function signUps(env: Record<string, string>) {
  const server = await startServer({ env: { TRUST_PROXY: "true", ...env } });
  const from = (address: string) =>
    fetch(`${server.config.issuer}/auth/register`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      body: JSON.stringify({
        email: "a@example.test",
        password: "correct horse battery",
        realmId: "01900000-0000-7000-8000-00000000dead",
      }),
    });
  const statuses = async (times: number) => {
    const all: number[] = [];
    for (let round = 0; round < times; round++) all.push((await from("192.0.2.1")).status);
    return all;
  };
  return { from, statuses, close: () => server.close() };
}

test("docs/protocol.md#limits: with a limit of 10 the eleventh sign-up of an address within the hour returns 429 with Retry-After", async ({
  onTestFinished,
}) => {
  const { from, statuses, close } = await signUps({ SIGN_UP_RATE_LIMIT: "10" });
  onTestFinished(close);
  expect(await statuses(10)).toEqual(Array(10).fill(400));
  const refused = await from("192.0.2.1");
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3500);
  expect((await from("192.0.2.2")).status).toBe(400);
});

test("specification §4.2: outside production an address may sign up far more often than that", async ({ onTestFinished }) => {
  const { statuses, close } = await signUps({ SIGN_UP_RATE_LIMIT: "" });
  onTestFinished(close);
  expect(await statuses(60)).toEqual(Array(60).fill(400));
});
