import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { recoveryHash } from "../../src/accounts/second-factor.ts";
import { operatorAt } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { authorizePath } from "../support/pages-server.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { type Answer, startUpstream, type Upstream } from "../support/upstream.ts";

let upstream: Upstream;
let server: TestServer;
beforeAll(async () => {
  upstream = await startUpstream();
  const connection = { issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret" };
  const client = { clientId: "web", name: "Field Notes", redirectUris: ["https://app.example.test/cb"], scopes: ["openid", "notes:read"] };
  server = await startServer({
    provision: {
      users: [{ ...OPERATOR, emailVerified: true, role: "operator" }],
      clients: [{ ...client, grantTypes: ["authorization_code"], tokenEndpointAuthMethod: "none", environment: "production" }],
      connections: [{ ...connection, name: "acme", title: "Acme", domains: ["acme.test"] }],
    },
  });
});
afterAll(async () => {
  await server.close();
  await upstream.close();
});

const aVisitor = () => aBrowser(server.url, { accept: "text/html" });
type Visitor = ReturnType<typeof aVisitor>;

const arrive = async (visitor: Visitor, subject: string, answer: Answer = {}, path = "/signin/acme") =>
  visitor.follow(upstream.signIn((await visitor.follow(path)).url, subject, answer));
const verified = (email: string) => ({ claims: { email, email_verified: true } });
const reasonsOf = (sub: string) =>
  runText(server.database.sql, "select event, reason from audit_records where user_id = $1 order by id", [sub]);

describe("a user with a second factor", () => {
  const TRUSTING = { amr: ["pwd", "mfa"] };
  const idOf = async (email: string) =>
    (await runText<{ id: string }>(server.database.sql, "select id::text from users where email_key = $1", [email]))[0]?.id ?? "";
  const code = (n: number) => `AAAA-BBBB-CCCC-DDD${"ABCDEFGH"[n]}`;

  /** An account by a provider, with an authenticator app and these recovery codes. */
  async function withCodes(subject: string): Promise<string> {
    await arrive(aVisitor(), subject, verified(`${subject}@acme.test`));
    const id = await idOf(`${subject}@acme.test`);
    await runText(
      server.database.sql,
      "insert into authenticator_apps (user_id, secret, confirmed_at) values ($1::uuid, 'unused', now())",
      [id],
    );
    for (let n = 0; n < 4; n++)
      await runText(server.database.sql, "insert into recovery_codes (code_hash, user_id) values ($1, $2::uuid)", [
        recoveryHash(id, code(n)),
        id,
      ]);
    return id;
  }
  const lastSession = async (id: string) =>
    (await runText(server.database.sql, "select proved_acr, amr from sessions where user_id = $1::uuid order by id desc limit 1", [id]))[0];

  test("is asked for its code after the provider, before there is a session, which ends with the provider's", async () => {
    const [id, visitor] = [await withCodes("vera"), aVisitor()];
    const asked = await arrive(visitor, "vera", { claims: TRUSTING });
    expect([asked.url.includes("/login/code?step="), visitor.cookies.has("countersign")]).toEqual([true, false]);
    expect((await visitor.submit(asked, { code: "WRNG-WRNG-WRNG-WRNG" })).status).toBe(401);
    expect((await visitor.submit(asked, { code: code(0) })).url).toBe(`${server.url}/account`);
    expect(await lastSession(id)).toEqual({ proved_acr: "urn:countersign:mfa", amr: ["fed", "mfa"] });
    const kept =
      "select subject from upstream_sessions join sessions on sessions.id = session_id where user_id = $1::uuid and proved_acr like '%mfa'";
    expect(await runText(server.database.sql, kept, [id])).toEqual([{ subject: "vera" }]);
    expect(await reasonsOf(id)).toContainEqual({ event: "session.started", reason: "second_factor" });
    expect(await reasonsOf(id)).toContainEqual({ event: "session.refused", reason: "second_factor_wrong" });
  });

  test("gets mails that do not say that they used a password", async () => {
    await withCodes("xenia");
    const visitor = aVisitor();
    const mail = () => server.mailTo("xenia@acme.test") ?? "";
    await visitor.submit(await arrive(visitor, "xenia"), { code: code(0) });
    await expect.poll(mail).toContain("one of your recovery codes");
    expect(mail()).not.toContain("your password and");
    await visitor.submit(await visitor.follow("/account/delete"), {});
    await expect.poll(mail).toContain("was deleted");
    expect(mail()).not.toContain("your password");
  });

  test("is asked in each of two tabs, and each goes on to its own request", async () => {
    await withCodes("tilda");
    const visitor = aVisitor();
    const requests = [await visitor.follow(authorizePath({ state: "one" })), await visitor.follow(authorizePath({ state: "two" }))];
    const asked = [];
    for (const { html } of requests)
      asked.push(await arrive(visitor, "tilda", {}, (/href="(\/signin\/acme[^"]*)"/.exec(html)?.[1] ?? "").replaceAll("&amp;", "&")));
    const consent = await visitor.submit(asked[1] as (typeof asked)[0], { code: code(0) });
    const ends = [
      await visitor.submit(consent, { decision: "approve" }),
      await visitor.submit(asked[0] as (typeof asked)[0], { code: code(1) }),
    ];
    expect(ends.map(({ url }) => new URL(url).searchParams.get("state"))).toEqual(["two", "one"]);
  });

  test("is not asked where the operator believes the provider, which has proved two", async () => {
    const id = await withCodes("uma");
    const { connections } = await operatorAt(server.url);
    await connections.update.mutate({ name: "acme", trustsAcr: true });
    expect((await arrive(aVisitor(), "uma", { claims: TRUSTING })).url).toBe(`${server.url}/account`);
    expect(await lastSession(id)).toEqual({ proved_acr: "urn:countersign:mfa", amr: ["fed", "mfa"] });
    expect((await arrive(aVisitor(), "uma", { claims: { amr: ["pwd"] } })).url).toContain("/login/code?step=");
    const profile = { userinfo: { ...TRUSTING, acr: "phr", auth_time: 1_000_000_000 } }; // says nothing of the sign-in
    expect((await arrive(aVisitor(), "uma", profile)).url).toContain("/login/code?step=");
    await connections.update.mutate({ name: "acme", trustsAcr: false });
  });

  test("gets no session by the code after the identity was unlinked or the account disabled", async () => {
    const id = await withCodes("wanda");
    const asked = async () => {
      const visitor = aVisitor();
      return { visitor, page: await arrive(visitor, "wanda", {}) };
    };
    const [one, two] = [await asked(), await asked()];
    await runText(server.database.sql, "update users set enabled = false where id = $1::uuid", [id]);
    const over = "That took too long. Sign in again.";
    expect((await one.visitor.submit(one.page, { code: code(0) })).html).toContain(over);
    await runText(server.database.sql, "update users set enabled = true where id = $1::uuid", [id]);
    await runText(server.database.sql, "delete from identity_links where user_id = $1::uuid", [id]);
    expect((await two.visitor.submit(two.page, { code: code(1) })).html).toContain(over);
    for (const { visitor } of [one, two]) expect(visitor.cookies.has("countersign")).toBe(false);
  });
});
