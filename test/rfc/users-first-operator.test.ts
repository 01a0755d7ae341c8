import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { firstOperatorLink } from "../../src/accounts/registration.ts";
import { invitations } from "../../src/store/invitations.ts";
import { auditOf } from "../support/accounts.ts";
import { adminAs } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ provision: { users: [], clients: [] } });
});
afterAll(() => server.close());

const newLink = () => firstOperatorLink({ invitations: invitations(server.database.sql), randomBytes, issuer: server.url });

test("an expired, replaced, malformed or unknown link returns 400 with a page in English or German", async () => {
  const replaced = (await newLink()) ?? "";
  const expired = (await newLink()) ?? "";
  await runText(server.database.sql, "update invitations set expires_at = now()");
  for (const link of [replaced, expired, "/setup", "/setup?token=x", `/setup?token=${"0".repeat(64)}`]) {
    const page = await aBrowser(server.url).follow(link);
    expect([page.status, page.html.includes("This link no longer works")]).toEqual([400, true]);
  }
  const german = await aBrowser(server.url, { "accept-language": "de" }).follow(expired);
  expect(german.html).toContain("Dieser Link gilt nicht mehr");
});

test("only the hash of the link is stored, and the link is not accepted as an invitation", async () => {
  const link = new URL((await newLink()) ?? "");
  const token = link.searchParams.get("token") ?? "";
  const rows = JSON.stringify(await runText(server.database.sql, "select *, encode(token_hash, 'hex') as hash from invitations"));
  expect(rows).not.toContain(token);
  expect((await aBrowser(server.url).follow(`/invitation?token=${token}`)).status).toBe(400);
});

test("five concurrent uses of the link: exactly one becomes the operator, signed in with a verified address", async () => {
  const link = (await newLink()) ?? "";
  const rivals = await Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      const browser = aBrowser(server.url, { "x-forwarded-for": `192.0.2.${index}` });
      return { browser, page: await browser.follow(link), email: index === 0 ? "first@example.test" : `rival${index}@example.test` };
    }),
  );
  const weak = await rivals[0]?.browser.submit(rivals[0].page, { email: "first@example.test", password: "iloveyou" });
  expect([weak?.status, weak?.html.includes('href="#password"')]).toEqual([400, true]);
  const ends = await Promise.all(rivals.map(({ browser, page, email }) => browser.submit(page, { email, password: PASSWORD })));
  expect(ends.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400, 400]);
  const winner = rivals[ends.findIndex(({ status }) => status === 200)];
  const end = ends.find(({ status }) => status === 200);
  expect([end?.url, end?.html.match(/<a [^>]*href="\/console">[^<]*/g)]).toEqual([
    expect.stringContaining("/account?done=set-up."),
    ['<a class="top-link" href="/console">Console', '<a class="button button-wide" href="/console">Open the console'],
  ]);
  const { admin } = await adminAs(server.url, { email: winner?.email ?? "", password: PASSWORD });
  const { users } = await admin.operator.users.list.query();
  expect(users.map(({ email, role, emailVerified }) => ({ email, role, emailVerified }))).toEqual([
    { email: winner?.email, role: "operator", emailVerified: true },
  ]);
  expect(await auditOf(server.database.sql, "user.registered")).toMatchObject([{ reason: "first_operator" }]);
});

test("no link is created once there is an operator", async () => {
  expect(await newLink()).toBeUndefined();
});
