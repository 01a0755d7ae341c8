import * as oauth from "oauth4webapi";
import { describe, expect, onTestFinished, test } from "vitest";
import { generatePrivateKey } from "../../src/development-keys.ts";
import { operatorAt } from "../support/admin.ts";
import { runText } from "../support/database.ts";
import { headerOf } from "../support/flow.ts";
import { privateCa } from "../support/private-ca.ts";
import { startServer } from "../support/server.ts";
import { startSmtpServer } from "../support/smtp-server.ts";

async function served(env: Record<string, string>) {
  const server = await startServer({ env });
  onTestFinished(() => server.close());
  return server;
}

describe("contract: ID_TOKEN_SIGNING_ALG=RS256", () => {
  test("ID tokens are signed with RS256 by a published key, access tokens with EdDSA, and oauth4webapi accepts both", async () => {
    const server = await served({ ID_TOKEN_SIGNING_ALG: "RS256" });
    const issuer = new URL(server.url);
    const insecure = { [oauth.allowInsecureRequests]: true };
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    expect(as.id_token_signing_alg_values_supported).toEqual(["RS256", "EdDSA"]);
    const { keys } = (await server.get("/.well-known/jwks.json")).body;
    expect(keys.map(({ alg }: { alg: string }) => alg).sort()).toEqual(["EdDSA", "RS256"]);
    for (const key of keys) for (const member of ["d", "p", "q", "dp", "dq", "qi"]) expect(key).not.toHaveProperty(member);

    const { web } = server.clients;
    const { browser } = await server.signedInUser();
    const verifier = oauth.generateRandomCodeVerifier();
    const redirect = await server.authorize(web, browser, {
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      scope: "openid email",
      nonce: "n-1",
    });
    const client = { client_id: web.clientId, id_token_signed_response_alg: "RS256" };
    const parameters = oauth.validateAuthResponse(as, client, new URLSearchParams(redirect), "st");
    const secret = oauth.ClientSecretBasic(web.secret ?? "");
    const answer = await oauth.authorizationCodeGrantRequest(as, client, secret, parameters, web.redirectUri, verifier, insecure);
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, answer, { expectedNonce: "n-1", requireIdToken: true });
    await oauth.validateApplicationLevelSignature(as, answer, insecure);
    expect(headerOf(tokens.id_token ?? "").alg).toBe("RS256");
    expect(headerOf(tokens.access_token)).toMatchObject({ alg: "EdDSA", typ: "at+jwt" });
    expect((await server.userinfo(tokens.access_token)).status).toBe(200);
    expect((await server.userinfo(tokens.id_token ?? "")).status).toBe(401);
  });
});

describe("contract: REFRESH_TOKEN_REUSE_GRACE", () => {
  test("concurrent refreshes return the same valid successor, and a replay after the grace revokes the family", async () => {
    const server = await served({ REFRESH_TOKEN_REUSE_GRACE: "30" });
    const { web, other } = server.clients;
    const { browser } = await server.signedInUser();
    const first = await server.tokens(web, browser, { scope: "openid email" });
    const answers = await Promise.all(Array.from({ length: 16 }, () => server.refresh(web, first.refresh_token)));
    expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(answers[0]?.body.refresh_token).not.toBe(first.refresh_token);
    for (const { body } of answers) expect((await server.introspect(web, body.access_token)).body.active).toBe(true);
    // A request by another client is not a repetition.
    expect((await server.refresh(other, first.refresh_token)).body.error).toBe("invalid_grant");
    const second = (await server.refresh(web, answers[0]?.body.refresh_token)).body;
    expect(second.refresh_token).toMatch(/^[0-9a-f]{64}$/);
    await runText(server.database.sql, "update refresh_tokens set used_at = used_at - interval '31 seconds'");
    expect((await server.refresh(web, answers[0]?.body.refresh_token)).body.error).toBe("invalid_grant");
    expect((await server.refresh(web, second.refresh_token)).body.error).toBe("invalid_grant");
    expect((await server.introspect(web, second.access_token)).body).toEqual({ active: false });
  });

  test.for([
    ["scope", { scope: "openid" }],
    ["resource", { resource: "https://notes.example.test/" }],
  ] as const)("replaying the previous token with another %s revokes the family within the grace", async ([, changed]) => {
    const server = await served({ REFRESH_TOKEN_REUSE_GRACE: "30" });
    const { web } = server.clients;
    const { browser } = await server.signedInUser();
    const resource = ["https://notes.example.test/", "https://mail.example.test/"];
    const first = await server.tokens(web, browser, { scope: "openid email", resource });
    const second = (await server.refresh(web, first.refresh_token, { scope: "email openid" })).body;
    const repeated = await server.refresh(web, first.refresh_token, { scope: "openid email" });
    expect([repeated.status, repeated.body.refresh_token]).toEqual([200, second.refresh_token]);
    expect((await server.refresh(web, first.refresh_token, changed)).body.error).toBe("invalid_grant");
    expect((await server.refresh(web, second.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("a token of two rotations ago revokes the family even within the grace", async () => {
    const server = await served({ REFRESH_TOKEN_REUSE_GRACE: "30" });
    const { web } = server.clients;
    const { browser } = await server.signedInUser();
    const first = await server.tokens(web, browser, { scope: "openid" });
    const second = (await server.refresh(web, first.refresh_token)).body;
    const third = (await server.refresh(web, second.refresh_token)).body;
    expect((await server.refresh(web, first.refresh_token)).body.error).toBe("invalid_grant");
    expect((await server.refresh(web, third.refresh_token)).body.error).toBe("invalid_grant");
  });
});

describe("contract: SMTP_URL", () => {
  test("mails are sent by SMTP and not to files, and sign-up succeeds while the mail server is down", async () => {
    const smtp = await startSmtpServer();
    const server = await served({ SMTP_URL: smtp.url, MAIL_FROM: "Countersign <id@example.test>", LOG_LEVEL: "debug" });
    const register = (email: string) =>
      fetch(`${server.url}/auth/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ email, password: "correct horse battery staple" }),
      });
    expect((await register("ada@example.test")).status).toBe(201);
    await expect.poll(() => smtp.received.length).toBe(1);
    const [mail] = smtp.received;
    expect([mail?.from, mail?.to]).toEqual([expect.stringContaining("id@example.test"), [expect.stringContaining("ada@example.test")]]);
    const token = /token=([0-9a-f]{64})/.exec((mail?.source ?? "").replaceAll("=\r\n", "").replaceAll("=3D", "="))?.[1] ?? "";
    expect(server.logged.join("\n")).not.toContain(token);
    expect((await server.get(`/auth/verify?token=${token}`)).status).toBe(200);
    await smtp.close();
    expect((await register("bob@example.test")).status).toBe(201);
    await expect.poll(() => server.logged.some((line) => line.includes("mail_postponed"))).toBe(true);
    expect(server.mailTo("bob@example.test")).toBeUndefined();
    expect(server.faults()).toEqual([]);
  });
});

describe("contract: certificates", () => {
  test("one that expires within 14 days is logged, measured and reported to operators", async () => {
    const { cert, key } = privateCa().serverFor("localhost");
    const server = await served({
      WALLET_ISSUER_ROOTS: privateCa(13).certificatePem,
      WALLET_VERIFIER_CERT: cert,
      WALLET_VERIFIER_KEY: key,
    });
    const warnings = server.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === "certificate_expires");
    expect(new Set(warnings.map(({ setting }) => setting))).toEqual(new Set(["WALLET_ISSUER_ROOTS"]));
    expect(warnings[0].seconds / 86_400).toBeCloseTo(13, 1);
    const { certificates } = await (await operatorAt(server.url)).deployment.get.query();
    expect(certificates.map(({ setting, soon }) => [setting, soon])).toEqual([
      ["WALLET_ISSUER_ROOTS", true],
      ["WALLET_VERIFIER_CERT", false],
    ]);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    for (const { setting, expiresAt } of certificates)
      expect(metrics).toContain(`countersign_certificate_expiry_timestamp_seconds{setting="${setting}"} ${expiresAt / 1000}\n`);
  });
});

test("contract: a setting without effect is logged at the start, with the one that it needs", async () => {
  const server = await startServer({ env: { ID_JAG_TRUSTED_ISSUERS: "https://idp.example.com" } });
  onTestFinished(() => server.close());
  const warnings = server.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === "setting_without_effect");
  expect(warnings).toEqual([expect.objectContaining({ setting: "ID_JAG_TRUSTED_ISSUERS", needed: "ID_JAG_ENABLED" })]);
});

describe("contract: keys of a front", () => {
  test("a front with a signing key logs that it does not use the key, and never logs the key", async () => {
    const pem = generatePrivateKey("ed25519");
    const server = await startServer({ shape: "split", env: { JWT_PRIVATE_KEY: pem } });
    onTestFinished(() => server.close());
    const warnings = server.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === "front_signs_nothing");
    expect(warnings).toEqual([expect.objectContaining({ role: "front", setting: "JWT_PRIVATE_KEY" })]);
    expect(server.logged.join()).not.toContain("PRIVATE KEY");
  });
});
