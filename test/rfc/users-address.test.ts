import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditOf } from "../support/accounts.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

let count = 0;
const anEmail = () => `moved${++count}@example.test`;
const FORM = "/account/security/address";

/** The link with this path in the last mail to an address. */
async function linkTo(email: string, path: string): Promise<string> {
  for (let tries = 0; tries < 1_200; tries++) {
    const text =
      server
        .mailTo(email)
        ?.replaceAll(/=\r?\n/g, "")
        .replaceAll("=3D", "=") ?? "";
    const token = new RegExp(`${path}\\?token=([0-9a-f]{64})`).exec(text)?.[1];
    if (token !== undefined) return `${path}?token=${token}`;
    await pause(50);
  }
  throw new Error(`no mail to ${email} with ${path}`);
}
const proofLink = (email: string) => linkTo(email, `${FORM}/confirm`);
const stopLink = (email: string) => linkTo(email, "/address/stop");

/** A signed-in user who has asked for another address. */
async function asking(members: { verified?: boolean } = {}) {
  const user = await server.signedInUser(members);
  const email = anEmail();
  const sent = await user.browser.submit(await user.browser.follow(FORM), { email });
  return { ...user, next: email, sent };
}

const mayLogIn = async (email: string) => (await aBrowser(server.url).json("/auth/login", { email, password: PASSWORD })).status === 200;

test("an address changes once its link is opened where the user is signed in; the former one gets a mail, and no longer signs in", async () => {
  const { browser, email, next, sent } = await asking();
  expect(sent.html).toContain("Open the link that we sent to your new address.");
  expect([await mayLogIn(email), await mayLogIn(next)]).toEqual([true, false]);
  const page = await browser.follow(await proofLink(next));
  expect(page.html).toContain(`from ${email} to ${next}`);
  const done = await browser.submit(page, { token: new URL(page.url).searchParams.get("token") ?? "" });
  expect(done.html).toContain("Your e-mail address has been changed.");
  expect([await mayLogIn(email), await mayLogIn(next)]).toEqual([false, true]);
  await expect.poll(() => server.mailTo(email)).toContain("Your e-mail address was changed");
  expect((await browser.follow(await proofLink(next))).status).toBe(400);
  expect(await auditOf(server.database.sql, "address.changed")).toHaveLength(1);
});

test("the link does nothing in the browser of another user, or without a sign-in", async () => {
  const { next, email } = await asking();
  const link = await proofLink(next);
  const other = await server.signedInUser();
  const stale = await other.browser.follow(link);
  expect([stale.status, stale.html.includes("sign out and open it again")]).toEqual([400, true]);
  expect((await aBrowser(server.url).follow(link)).html).toContain("Sign in first");
  expect(await mayLogIn(email)).toBe(true);
});

test("opened without a sign-in, the link goes on to the confirmation after it, and a link to elsewhere goes nowhere", async () => {
  const { next, email } = await asking();
  const link = await proofLink(next);
  const phone = aBrowser(server.url);
  const first = await phone.follow(link);
  const signIn = /href="([^"]*\/login[^"]*)"/.exec(first.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const page = await phone.submit(await phone.follow(signIn), { email, password: PASSWORD });
  expect(page.html).toContain(`from ${email} to ${next}`);
  const done = await phone.submit(page, { token: new URL(page.url).searchParams.get("token") ?? "" });
  expect(done.html).toContain("Your e-mail address has been changed.");
  for (const elsewhere of ["//evil.example/?token=", "/account/security/address/confirm?token=x", `https://evil.example${link}`]) {
    const visitor = aBrowser(server.url);
    const form = await visitor.follow(`/login?next=${encodeURIComponent(elsewhere)}`);
    expect((await visitor.submit(form, { email: next, password: PASSWORD })).url).toBe(`${server.url}/account`);
  }
});

test("links for a new password that were sent to the former address stop working", async () => {
  const { browser, email, next } = await asking();
  const visitor = aBrowser(server.url);
  await visitor.submit(await visitor.follow("/forgot"), { email });
  const reset = await linkTo(email, "/reset");
  const page = await browser.follow(await proofLink(next));
  await browser.submit(page, { token: new URL(page.url).searchParams.get("token") ?? "" });
  expect((await visitor.follow(reset)).status).toBe(400);
});

test.for([
  ["before", false],
  ["after", true],
] as const)(
  "the link to the former address keeps it %s the change, signs out everything and removes the password",
  async ([, confirmed]) => {
    const { browser, email, next } = await asking();
    const link = await stopLink(email);
    if (confirmed) {
      const page = await browser.follow(await proofLink(next));
      await browser.submit(page, { token: new URL(page.url).searchParams.get("token") ?? "" });
      // A second change must not take the way back from the first address.
      await browser.submit(await browser.follow(FORM), { email: anEmail() });
    }
    const owner = aBrowser(server.url);
    const page = await owner.follow(link);
    expect(page.html).toContain(`keeps the address ${email}`);
    const token = new URL(link, server.url).searchParams.get("token") ?? "";
    if (confirmed) {
      const other = await server.signedInUser({ email });
      const taken = await owner.submit(page, { token });
      expect([taken.status, taken.html.includes("delete it, then open this link again"), taken.html.includes('href="/login"')]).toEqual([
        409,
        true,
        true,
      ]);
      await other.browser.submit(await other.browser.follow("/account/delete"), {});
    }
    const stopped = await owner.submit(page, { token });
    expect(stopped.html).toContain("Everything was signed out. Choose a new password now.");
    expect((await owner.follow(`${stopped.url}&lang=de`)).html).toContain("Wählen Sie jetzt ein neues Passwort");
    await owner.follow(`${stopped.url}&lang=en`);
    for (const forged of [stopped.url, "/address/stop?done=yes"])
      expect((await browser.follow(forged)).html).not.toContain("Everything was signed out.");
    expect((await browser.follow("/account")).url).toContain("/login");
    expect([await mayLogIn(email), await mayLogIn(next)]).toEqual([false, false]);
    const again = await owner.submit(page, { token });
    expect([again.status, again.html.includes("If you kept your address with it"), again.html.includes('href="/forgot"')]).toEqual([
      400,
      true,
      true,
    ]);
    await owner.submit(await owner.follow("/forgot"), { email });
    await owner.submit(await owner.follow(await linkTo(email, "/reset")), { password: PASSWORD });
    expect(await mayLogIn(email)).toBe(true);
    expect((await owner.follow(link)).status).toBe(400);
  },
);

test("an address that was not confirmed gets no link, for its mailbox may be someone else's, and the page promises none", async () => {
  const { browser, email, next } = await asking({ verified: false });
  expect((await browser.follow(FORM)).html).not.toContain("a notice to the current one");
  expect((await (await server.signedInUser()).browser.follow(FORM)).html).toContain("a notice to the current one");
  const page = await browser.follow(await proofLink(next));
  await browser.submit(page, { token: new URL(page.url).searchParams.get("token") ?? "" });
  expect(await mayLogIn(next)).toBe(true);
  expect(server.mailTo(email)).not.toContain("/address/stop");
});

test.for([
  ["an address with an account", OPERATOR.email.toUpperCase(), 409, "already an account"],
  ["what is no address", "moved", 400, "Enter an e-mail address"],
] as const)("%s is refused with a message", async ([, address, status, words]) => {
  const { browser } = await server.signedInUser();
  const refused = await browser.submit(await browser.follow(FORM), { email: address });
  expect([refused.status, refused.html.includes(words)]).toEqual([status, true]);
});

test("the present address is refused", async () => {
  const { browser, email } = await server.signedInUser();
  const refused = await browser.submit(await browser.follow(FORM), { email });
  expect([refused.status, refused.html.includes("the address of your account already")]).toEqual([400, true]);
});

test("an account that got the address in the meantime keeps it", async () => {
  const { browser, email, next } = await asking();
  const page = await browser.follow(await proofLink(next));
  await server.signedInUser({ email: next, verified: false });
  const refused = await browser.submit(page, { token: new URL(page.url).searchParams.get("token") ?? "" });
  expect([refused.status, await mayLogIn(email)]).toEqual([409, true]);
});

test("a proof that became too old while the user typed: the page says so, and nothing is sent", async () => {
  const { browser, id, email } = await server.signedInUser();
  const page = await browser.follow(FORM);
  await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
  const [next, words] = [anEmail(), "That took too long. Sign in again."];
  const late = await browser.submit(page, { email: next });
  expect([late.html.includes(words), late.url.includes(next.split("@")[0] ?? "")]).toEqual([true, false]);
  expect((await browser.submit(late, { email, password: PASSWORD })).url).toBe(server.url + FORM);
  await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
  expect((await browser.follow(FORM)).html).not.toContain(words);
});

test("a user who proved themselves long ago is asked to do so again first", async () => {
  const { browser, id, email } = await server.signedInUser();
  await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
  const page = await browser.follow(FORM);
  expect(new URL(page.url).pathname).toBe("/login");
  expect((await browser.submit(page, { email, password: PASSWORD })).url).toBe(server.url + FORM);
});
