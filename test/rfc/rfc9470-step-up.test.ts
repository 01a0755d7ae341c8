import { describe, expect } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { claimsOf, PASSWORD } from "../support/flow.ts";
import { PROVISIONED, testOn } from "../support/server.ts";

const BANK = "https://bank.example.test/mcp";
const [PWD, PHR] = ["urn:countersign:pwd", "phr"] as const;
const test = testOn({
  provision: {
    ...PROVISIONED,
    resources: [
      {
        resource: BANK,
        scopes: [
          { name: "notes:read", stepUp: { maxAge: 600 } },
          { name: "notes:write", stepUp: { acr: PHR } },
        ],
      },
    ],
  },
});

describe("RFC 9470 §4 and §6, docs/protocol.md#step-up", () => {
  test("acr_values puts acr and amr into both tokens, and acr, amr and auth_time into introspection", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const issued = await server.tokens(server.clients.web, browser, { scope: "openid", acr_values: `gold ${PHR} ${PWD}` });
    const said = { acr: PWD, amr: ["pwd"], auth_time: claimsOf(issued.id_token).auth_time };
    expect(claimsOf(issued.id_token)).toMatchObject(said);
    expect(claimsOf(issued.access_token)).toMatchObject(said);
    expect((await server.introspect(server.clients.web, issued.access_token)).body).toMatchObject({ active: true, ...said });
    const { body } = await server.refresh(server.clients.web, issued.refresh_token);
    expect(claimsOf(body.access_token)).toMatchObject(said);
  });

  test("max_age puts auth_time into the access token, and leaves the ID token as it is", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const issued = await server.tokens(server.clients.web, browser, { scope: "openid", max_age: "1000" });
    expect(claimsOf(issued.access_token)).toMatchObject({ acr: PWD, auth_time: claimsOf(issued.id_token).auth_time });
    expect(claimsOf(issued.id_token)).not.toHaveProperty("acr");
  });

  test("without either, neither token nor introspection says how the user signed in", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const issued = await server.tokens(server.clients.web, browser, { scope: "openid" });
    for (const claims of [claimsOf(issued.access_token), (await server.introspect(server.clients.web, issued.access_token)).body])
      for (const name of ["acr", "amr", "auth_time"]) expect(claims).not.toHaveProperty(name);
    expect(claimsOf(issued.id_token)).not.toHaveProperty("acr");
  });

  test("a scope's demand that the user does not want to meet returns unmet_authentication_requirements; with prompt=none login_required", async ({
    server,
  }) => {
    const { browser } = await server.signedInUser();
    const demanding = { resource: BANK, scope: "notes:read notes:write" };
    const challenge = server.pkce().challenge;
    const page = await browser.follow(server.authorizeUrl(server.clients.web, { ...demanding, state: "st", code_challenge: challenge }));
    expect(page.html).toContain("A sign-in with a passkey is needed here.");
    const refused = new URL((await browser.submit(page, { later: "yes" })).url).searchParams;
    expect(Object.fromEntries(refused)).toMatchObject({ error: "unmet_authentication_requirements", state: "st" });
    expect((await server.authorize(server.clients.web, browser, { ...demanding, prompt: "none" })).get("error")).toBe("login_required");
    const met = await server.tokens(server.clients.web, browser, { resource: BANK, scope: "notes:read" });
    expect(claimsOf(met.access_token)).toMatchObject({ acr: PWD, auth_time: expect.any(Number) });
    const other = await server.tokens(server.clients.web, browser, { resource: BANK, scope: "profile" });
    expect(claimsOf(other.access_token)).not.toHaveProperty("acr");
  });

  test("who decides when the sign-in is older than a scope allows by then signs in again, and decides again", async ({ server }) => {
    const { email } = await server.signedInUser();
    const [browser, { sql }] = [aBrowser(server.url), server.database];
    const asking = { resource: BANK, scope: "notes:read", code_challenge: server.pkce().challenge };
    const signIn = await browser.follow(server.authorizeUrl(server.clients.web, asking));
    const page = await browser.submit(signIn, { email, password: PASSWORD });
    await runText(sql, "update pending_requests set created_at = created_at - interval '20 minutes'");
    await runText(
      sql,
      "update sessions set proved_at = proved_at - interval '11 minutes' where user_id = (select id from users where email = $1)",
      [email],
    );
    const again = await browser.submit(page, { decision: "approve" });
    expect(again.html).toContain("Confirm that it is you");
    const asked = await browser.submit(again, { email, password: PASSWORD });
    expect((await browser.submit(asked, { decision: "approve" })).url).toContain("code=");
  });

  test("a scope that demands a stronger class after it was granted is in no refreshed token", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const resource = "https://shop.example.test/mcp";
    const { resources } = await operatorAt(server.url);
    await resources.create.mutate({ resource, scopes: [{ name: "notes:read" }, { name: "notes:write" }] });
    const issued = await server.tokens(server.clients.web, browser, { resource, scope: "notes:read notes:write" });
    const refreshed = async (refreshToken: string, acr: typeof PWD | typeof PHR) => {
      await resources.update.mutate({ resource, scopes: [{ name: "notes:read" }, { name: "notes:write", stepUp: { acr } }] });
      return (await server.refresh(server.clients.web, refreshToken)).body;
    };
    const weak = await refreshed(issued.refresh_token, PWD);
    expect([weak.scope, (await refreshed(weak.refresh_token, PHR)).scope]).toEqual(["notes:read notes:write", "notes:read"]);
  });

  test("no scope demands a sign-in of less than a minute, in which users could decide nothing", async ({ server }) => {
    const { resources } = await operatorAt(server.url);
    const demanding = (maxAge: number) =>
      resources.create.mutate({ resource: `https://of-${maxAge}.example.test/`, scopes: [{ name: "notes:read", stepUp: { maxAge } }] });
    expect(await demanding(60)).toMatchObject({ scopes: [{ stepUp: { maxAge: 60 } }] });
    await expect(demanding(59)).rejects.toMatchObject({ data: { error: "invalid_request", issues: [{ path: "scopes.0.stepUp.maxAge" }] } });
  });

  test("both discovery documents list the classes, the weakest first", async ({ server }) => {
    for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"])
      expect((await server.get(path)).body.acr_values_supported).toEqual([PWD, "urn:countersign:mfa", PHR]);
  });
});

describe("docs/protocol.md#sessions: a fresh proof", () => {
  test("changes the session's secret and not the session, and is recorded", async ({ server }) => {
    const { email, browser } = await server.signedInUser();
    const before = browser.cookies.get("countersign");
    const page = await browser.follow("/login?again=yes&next=/account/security");
    expect(page.url).toContain("/account/security"); // the proof of the sign-in is fresh
    const form = await browser.follow(
      server.authorizeUrl(server.clients.web, { code_challenge: server.pkce().challenge, prompt: "login" }),
    );
    await browser.submit(form, { email, password: PASSWORD });
    const after = browser.cookies.get("countersign");
    expect(after).not.toBe(before);
    const security = await browser.follow("/account/security");
    expect(security.html.match(/This device<\/span>/g)).toHaveLength(1);
    expect(security.html).not.toContain("Sign out all others");
    browser.cookies.set("countersign", before ?? "");
    expect((await browser.follow("/account")).url).toContain("/login");
  });
});
