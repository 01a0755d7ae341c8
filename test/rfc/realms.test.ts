import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";

const PASSWORD = "correct horse battery";
const MFA = "urn:countersign:mfa";

let server: TestServer;
let operator: Awaited<ReturnType<typeof operatorAt>>;
/** Their ids by name. */
let realms: Readonly<Record<string, string>>;
beforeAll(async () => {
  server = await startServer({
    provision: {
      users: [{ ...OPERATOR, role: "operator" }],
      realms: [
        { name: "guests", branding: { name: "Guests of Acme" } },
        { name: "strict", requiredAcr: MFA },
      ],
    },
  });
  operator = await operatorAt(server.url);
  realms = Object.fromEntries((await operator.realms.list.query()).realms.map(({ name, id }) => [name, id]));
});
afterAll(() => server.close());

let count = 0;
async function memberOf(realmId: string | undefined) {
  const credentials = { email: `member-${++count}@example.test`, password: PASSWORD };
  const browser = aBrowser(server.url);
  const { status, body } = await browser.json("/auth/register", { ...credentials, realmId });
  expect(status).toBe(201);
  return { ...credentials, browser, id: body.id as string };
}

describe("a realm that demands a stronger sign-in", () => {
  test("starts no session for a program that signs in with less, and records the refusal", async () => {
    const { id: userId, browser, ...credentials } = await memberOf(realms.strict);
    for (const path of ["/auth/login", "/auth/login?session=false"]) {
      const refused = await browser.json(path, credentials);
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
    const { browser, ...credentials } = await memberOf(realms.strict);
    await browser.submit(await browser.follow("/login"), { email: credentials.email, password: PASSWORD });
    expect((await browser.json("/auth/login", { email: credentials.email, password: PASSWORD })).status).toBe(403);
    expect((await browser.follow("/account")).url).toBe(`${server.url}/account`);
  });
});
