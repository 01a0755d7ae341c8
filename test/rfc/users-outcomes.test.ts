import { expect } from "vitest";
import { aBrowser, type Browser, type Visit } from "../support/browser.ts";
import { PASSWORD } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { describe, startServer, test } from "../support/server.ts";

const NOTICE = /<p class="done" role="status">([^<]*)/;
const noticeOf = ({ html }: Visit): string | undefined => NOTICE.exec(html)?.[1];

/** Follows the link of a page to the same page in German. */
const inGerman = (browser: Browser, { html }: Visit): Promise<Visit> =>
  browser.follow((/href="([^"]+)" lang="de"/.exec(html)?.[1] ?? "").replaceAll("&amp;", "&"));

describe("a link that another site has made", () => {
  test.for([
    "/account?done=named",
    "/account/security?done=linked",
    "/account/security?done=password",
    "/account/agents?done=ended",
    "/account/security?done=linked.",
    `/account/security?done=linked.${"x".repeat(43)}`,
  ])("to %s announces nothing", async (path, { server }) => {
    const { browser } = await server.signedInUser();
    const page = await browser.follow(path);
    expect([page.status, noticeOf(page)]).toEqual([200, undefined]);
  });

  test("announces nothing with the token of another browser, or of something else that was done", async ({ server }) => {
    const [one, other] = [await server.signedInUser(), await server.signedInUser()];
    const { url } = await one.browser.submit(await one.browser.follow("/account"), { firstName: "Ada" });
    expect(noticeOf(await other.browser.follow(url))).toBeUndefined();
    expect(noticeOf(await one.browser.follow(url.replace("named", "address")))).toBeUndefined();
  });

  test("to /account/deleted or /device/done says neither that an account is deleted nor that a device is connected", async ({ server }) => {
    const browser = aBrowser(server.url);
    for (const query of ["", "?done=deleted", "?done=approved", "?error=access_denied"]) {
      expect((await browser.follow(`/account/deleted${query}`)).url).toBe(`${server.url}/login`);
      expect((await browser.follow(`/device/done${query}`)).url).toBe(`${server.url}/device`);
    }
  });

  test("to /forgot/sent does not say that a link was sent, and leads to the form with the destination", async ({ server }) => {
    const page = await aBrowser(server.url).follow("/forgot/sent?next=/account/agents");
    expect([page.url, page.html.includes("Check your mail")]).toEqual([`${server.url}/forgot?next=%2Faccount%2Fagents`, false]);
  });

  test("to /signup/sent does not say that another mail is on its way", async ({ server }) => {
    const browser = aBrowser(server.url);
    await browser.submit(await browser.follow("/signup"), { email: "sent@example.test", password: PASSWORD });
    expect((await browser.follow("/signup/sent?done=again")).html).not.toContain("a new message");
    expect((await browser.follow("/forgot/sent")).url).toBe(`${server.url}/forgot`);
  });

  test.for(["/account/security?over=yes", "/account/security?done=appOver", "/login/set-up?done=appOver"])(
    "to %s does not say that an authenticator app has to be begun again",
    async (path, { server }) => {
      const { browser } = await server.signedInUser();
      const page = await browser.follow(path);
      expect([page.status, page.html.includes("Begin it again")]).toEqual([200, false]);
    },
  );
});

describe("what was just done is said", () => {
  test("in the other language too, and in each of two tabs its own", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const page = await browser.follow("/account");
    const named = await browser.submit(page, { firstName: "Ada" });
    const address = await browser.submit(await browser.follow("/account/security/address"), { email: "moved@example.test" });
    expect([noticeOf(await browser.follow(named.url)), noticeOf(await browser.follow(address.url))]).toEqual([
      "Your name has been saved.",
      expect.stringContaining("Open the link that we sent to your new address."),
    ]);
    expect(noticeOf(await inGerman(browser, named))).toBe("Ihr Name wurde gespeichert.");
  });

  test("after a new password, which starts another session", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const changed = await browser.submit(await browser.follow("/account/security/password"), { password: "another horse battery" });
    expect(noticeOf(changed)).toContain("Your password has been changed.");
  });

  test("after the account was deleted, which ends the session, in the other language too", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const gone = await browser.submit(await browser.follow("/account/delete"), {});
    expect(gone.html).toContain("Your account has been deleted");
    expect((await inGerman(browser, gone)).html).toContain("Ihr Konto wurde gelöscht");
  });

  test("behind a path prefix, in the other language too", async () => {
    const port = String(await freePort());
    const server = await startServer({ env: { PORT: port, JWT_ISSUER: `http://localhost:${port}/id` } });
    const { browser } = await server.signedInUser();
    const named = await browser.submit(await browser.follow("/id/account"), { firstName: "Ada" });
    expect([named.url.startsWith(`${server.url}/account?done=named.`), noticeOf(named)]).toEqual([true, "Your name has been saved."]);
    expect(noticeOf(await inGerman(browser, named))).toBe("Ihr Name wurde gespeichert.");
    await server.close();
  });
});
