import { afterAll, beforeAll, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { startServer, type TestServer } from "../support/server.ts";

const PASSWORD = "correct horse battery";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ env: { TRUST_PROXY: "true" } });
});
afterAll(() => server.close());

const from = (address: string) => aBrowser(server.url, { accept: "text/html", "x-forwarded-for": address });
type Visitor = ReturnType<typeof from>;
const signUp = async (visitor: Visitor, email: string) => visitor.submit(await visitor.follow("/signup"), { email, password: PASSWORD });
const signIn = async (visitor: Visitor, email: string, password = PASSWORD) =>
  visitor.submit(await visitor.follow("/login"), { email, password });
const forget = (visitor: Visitor, name: string) => visitor.cookies.delete(name);
const wrong = (address: string, email: string) => from(address).json("/auth/login", { email, password: "wrong password" });

test("a flood from one address keeps the owner out neither elsewhere nor, in a browser that signed in before, at the same address", async () => {
  const [email, attacker] = ["flooded@example.test", "203.0.113.1"];
  const owner = from(attacker);
  expect((await signUp(owner, email)).url).toContain(`${server.url}/account`);
  forget(owner, "countersign");
  const flood = Array.from({ length: 200 }, () => wrong(attacker, email));
  const outcomes = await Promise.all([signIn(from("198.51.100.1"), email), signIn(owner, email), ...flood]);
  expect(outcomes.slice(0, 2).map((visit) => (visit as { url: string }).url)).toEqual([`${server.url}/account`, `${server.url}/account`]);
  const guesses = await runText(server.database.sql, "select 1 from audit_records where event = 'session.refused'");
  expect(guesses.length).toBeLessThanOrEqual(10);
  const stranger = from(attacker);
  expect((await signIn(stranger, email)).status).toBe(429);
  forget(owner, "countersign");
  expect((await signIn(owner, email)).url).toBe(`${server.url}/account`);
  for (let n = 0; n < 10; n++) {
    forget(owner, "countersign");
    await signIn(owner, email, "wrong password");
  }
  expect((await signIn(owner, email)).status).toBe(429);
});

test("strangers who request mails do not keep the user of a known browser from getting a link", async () => {
  const email = "mailed@example.test";
  const owner = from("198.51.100.2");
  await signUp(owner, email);
  forget(owner, "countersign");
  for (let n = 0; n < 3; n++) await from(`203.0.113.${10 + n}`).json("/auth/forgot-password", { email });
  expect((await from("198.51.100.3").json("/auth/forgot-password", { email })).status).toBe(429);
  const page = await owner.submit(await owner.follow("/forgot"), { email });
  expect(page.url).toContain("/forgot/sent");
});
