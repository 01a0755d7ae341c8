import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser, type Visit } from "../support/browser.ts";
import type { CredentialIssuer } from "../support/credential-issuer.ts";
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

const PATH = "/account/wallet";
const link = /href="(openid4vp:[^"]+)"/;
const invocationOf = ({ html }: Visit): string => (link.exec(html)?.[1] ?? "").replaceAll("&amp;", "&");
const credential = (wallet: ReturnType<typeof aWallet>, sub: string) => issuer.issue({ holder: wallet.holder, claims: { sub } });

test("the page requires a session and names the account before it shows a request", async () => {
  const user = await at.aUser();
  const page = await user.browser.follow(PATH);
  expect(page.status).toBe(200);
  expect(page.html).toContain(`The wallet will be linked to the account <strong>${user.email}</strong>`);
  expect(page.html).toContain(`href="${PATH}?lang=de"`);
  expect(page.html).not.toContain("openid4vp:");
  expect((await user.browser.follow("/account")).html).toContain(`href="${PATH}"`);
  expect((await aBrowser(server.url).follow(PATH)).url).toContain("/login");
});

test("a wallet on another device: the page contains the QR code and refreshes itself without scripts", async () => {
  const user = await at.aUser();
  const page = await user.browser.submit(await user.browser.follow(PATH), { device: "other" });
  expect(page.html).toMatch(/<svg class="qr" viewBox="0 0 \d+ \d+" role="img" aria-label="QR code with the request to your wallet"/);
  expect(page.html).toContain('<noscript><meta http-equiv="refresh" content="5"></noscript>');
  expect(page.headers.get("content-security-policy")).toContain("connect-src 'self'");
  const handle = new URL(page.url).searchParams.get("handle") ?? "";
  const { body } = await at.poll(user, handle);
  expect(body).toEqual({ status: "pending" });
  expect((await user.browser.follow(page.url)).html).toContain('class="qr"');
  await at.letExpire(user);
  expect((await user.browser.follow(page.url)).html).toContain("The request has expired.");
});

describe("a wallet on the same device", () => {
  test("brings the browser back with a response code, which completes the link", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const page = await user.browser.submit(await user.browser.follow(PATH), { device: "same" });
    const { body } = await wallet.answer(invocationOf(page), await credential(wallet, "same"));
    expect(body.redirect_uri).toMatch(new RegExp(`^${server.url}${PATH}\\?response_code=[\\w-]{43}$`));
    const handle = new URL(page.url).searchParams.get("handle") ?? "";
    expect((await at.poll(user, handle)).body).toEqual({ status: "pending" });
    const back = await user.browser.follow(body.redirect_uri ?? "");
    expect(back.html).toContain("Your wallet is linked.");
    expect(back.html).toContain(`localhost:${issuer.publisher.port}`);
    expect((await at.poll(user, handle)).body).toEqual({ status: "linked" });
  });

  test("OID4VP session fixation: a link is completed neither in another user's browser nor without the response code", async () => {
    const [attacker, victim, wallet] = [await at.aUser(), await at.aUser(), aWallet()];
    const page = await attacker.browser.submit(await attacker.browser.follow(PATH), { device: "same" });
    const { body } = await wallet.answer(invocationOf(page), await credential(wallet, "victim"));
    expect((await victim.browser.follow(body.redirect_uri ?? "")).status).toBe(404);
    expect((await attacker.browser.follow(page.url)).html).toContain("Open your wallet");
    expect((await attacker.browser.follow(`${PATH}?response_code=${"x".repeat(43)}`)).status).toBe(404);
    expect((await at.poll(attacker, new URL(page.url).searchParams.get("handle") ?? "")).body).toEqual({ status: "pending" });
  });

  test("a refusal leads back to the page, which reports it", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const page = await user.browser.submit(await user.browser.follow(PATH), { device: "same" });
    const { body } = await wallet.decline(invocationOf(page));
    expect((await user.browser.follow(body.redirect_uri ?? "")).html).toContain("You declined in the wallet.");
  });
});

test("the page of a conflicting link says that the wallet is linked to another account", async () => {
  const [owner, other, wallet] = [await at.aUser(), await at.aUser(), aWallet()];
  await at.link(owner, wallet, await credential(wallet, "owned"));
  const { handle, invocation_uri } = await at.begin(other);
  await wallet.answer(invocation_uri, await credential(wallet, "owned"));
  expect((await other.browser.follow(`${PATH}?handle=${handle}`)).html).toContain("This wallet is linked to another account.");
});

test("a linked wallet is shown and can be unlinked", async () => {
  const [user, wallet] = [await at.aUser(), aWallet()];
  await at.link(user, wallet, await credential(wallet, "shown"));
  const page = await user.browser.follow(PATH);
  expect(page.html).toContain("Linked wallet");
  const body = new URLSearchParams({ form_token: /name="form_token" value="([^"]+)"/.exec(page.html)?.[1] ?? "" });
  for (const _click of [1, 2]) {
    const unlinked = await user.browser.follow(`${PATH}/unlink`, { method: "POST", body, headers: { origin: server.url } });
    expect(unlinked.html).toContain("The wallet is no longer linked.");
  }
  expect((await at.link(await at.aUser(), wallet, await credential(wallet, "shown"))).body.status).toBe("linked");
});

test("forms from another origin return 403 and change nothing, and an unknown handle returns 404", async () => {
  const [user, wallet] = [await at.aUser(), aWallet()];
  await at.link(user, wallet, await credential(wallet, "forms"));
  for (const path of [PATH, `${PATH}/unlink`]) {
    const headers = { "content-type": "application/x-www-form-urlencoded", origin: "https://evil.test" };
    const response = await user.browser.request(path, { method: "POST", headers, body: "device=other" });
    expect(response.status).toBe(403);
  }
  expect((await user.browser.follow(PATH)).html).toContain("Linked wallet");
  const page = await (await at.aUser()).browser.follow(`${PATH}?handle=${"x".repeat(43)}`);
  expect(page.status).toBe(404);
});

test("the page is German for Accept-Language: de", async () => {
  const user = await at.aUser();
  const page = await user.browser.follow(PATH, { headers: { "accept-language": "de" } });
  expect(page.html).toContain("Wallet verknüpfen");
});
