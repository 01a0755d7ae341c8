import { generateKeyPairSync } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { CorePorts } from "../../../src/core/ports.ts";
import { type KeyRing, type Keys, openKeys } from "../../../src/core/signing/key-ring.ts";
import { type SigningKey, signingKey } from "../../../src/core/signing/keys.ts";
import type { NewFamily, NewGrant } from "../../../src/core/stored-grants.ts";
import { ownJti } from "../../../src/core/tokens/access-token.ts";
import { Refusal } from "../../../src/errors.ts";
import { ClientCredentialSchema, TokenRequestSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { hashSecret } from "../../../src/random.ts";
import { aClient, aCode, aFamily, aSubject, VERIFIER } from "../../support/builders.ts";
import { clocksAt } from "../../support/clock.ts";
import { ask, claimsOf, ISSUER, type MemoryWorld, memoryCore, NOW } from "../../support/memory-core.ts";

interface Sent {
  readonly client?: MessageInitShape<typeof ClientCredentialSchema>;
  readonly grant?: NonNullable<MessageInitShape<typeof TokenRequestSchema>["grant"]>;
}

const basic = { basic: { clientId: "notes-app", clientSecret: "the-secret" }, address: "192.0.2.1" };
const publicClient = aClient({ tokenEndpointAuthMethod: "none", secretHash: null });
const anonymous = { clientId: "notes-app", address: "192.0.2.1" };

async function request(init: Sent, world: MemoryWorld = {}) {
  const { core, writes } = await memoryCore(world);
  const client = create(ClientCredentialSchema, init.client ?? basic);
  const message = create(TokenRequestSchema, { requestId: "r1", client, ...(init.grant && { grant: init.grant }) });
  const answer = await ask(core, "token", message);
  return { answer, writes, token: claimsOf(String((answer as { accessToken?: string }).accessToken)) };
}

const clientCredentials = (members: object = {}) => ({ grant: { case: "clientCredentials", value: members } }) as const;
const code = { code: "code", redirectUri: "https://notes.example.test/cb", codeVerifier: VERIFIER };
const authorizationCode = (members: object = {}) => ({ grant: { case: "authorizationCode", value: { ...code, ...members } } }) as const;
const TOKEN = "a".repeat(64);
const refreshToken = (members: object = {}) => ({ grant: { case: "refreshToken", value: { refreshToken: TOKEN, ...members } } }) as const;

const refusedBy = (error: string, reason: string, rule: string, grantType: string) => [
  "audit.record",
  {
    event: "token.refused",
    outcome: "failure",
    error,
    reason,
    rule,
    actor: { type: "client", id: "notes-app" },
    clientId: "notes-app",
    grantType,
    requestId: "r1",
  },
];

describe("client_credentials", () => {
  test("issues a token for the client itself and records it", async () => {
    const { answer, writes, token } = await request(clientCredentials({ scope: "notes:read" }));
    expect(answer).toEqual({ accessToken: expect.any(String), tokenType: "Bearer", expiresIn: 900, scope: "notes:read" });
    expect(token).toEqual({
      typ: "at+jwt",
      iss: ISSUER,
      sub: "notes-app",
      aud: "notes-app",
      client_id: "notes-app",
      scope: "notes:read",
      iat: NOW,
      exp: NOW + 900,
      jti: ownJti((size) => Buffer.alloc(size, 1), aClient().id),
      token_use: "access",
    });
    expect(writes).toEqual([
      [
        "audit.recordIssue",
        {
          event: "token.issued",
          outcome: "success",
          actor: { type: "client", id: "notes-app" },
          clientId: "notes-app",
          grantType: "client_credentials",
          scope: "notes:read",
          resources: ["notes-app"],
          jti: token.jti,
          requestId: "r1",
        },
      ],
    ]);
  });

  test("refuses a scope that the client is not allowed, and records the rule", async () => {
    const { answer, writes } = await request(clientCredentials({ scope: "admin" }));
    expect(answer).toEqual(["invalid_scope", "scope_not_allowed"]);
    expect(writes).toEqual([refusedBy("invalid_scope", "scope_not_allowed", "scope", "client_credentials")]);
  });

  test("refuses a public client without an audit record, since anyone could send requests in its name", async () => {
    const { answer, writes } = await request(
      { client: anonymous, ...clientCredentials({ scope: "notes:read" }) },
      { clients: [publicClient] },
    );
    expect([answer, writes]).toEqual([["unauthorized_client", "public_client"], []]);
  });

  test("writes no audit record for an outage", async () => {
    const recordIssue = () => Promise.reject(new Refusal("temporarily_unavailable", "database_gone"));
    const ports = ({ audit }: CorePorts) => ({ audit: { ...audit, recordIssue } });
    const { answer, writes } = await request(clientCredentials({ scope: "notes:read" }), { ports });
    expect([answer, writes]).toEqual([["temporarily_unavailable", "database_gone"], []]);
  });
});

describe("authorization_code", () => {
  test("redeems the code, opens the grant with its family and returns three tokens", async () => {
    const { answer, writes, token } = await request(authorizationCode(), { code: aCode({ nonce: "n-1" }) });
    const [[method, hash, grant, family, audit] = []] = writes as unknown as [[string, unknown, NewGrant, NewFamily, object]];
    expect([writes.length, method, hash]).toEqual([1, "code.redeem", hashSecret("code")]);
    expect(grant).toEqual({
      id: expect.any(String),
      clientId: "notes-app",
      userId: aSubject().userId,
      scopes: ["openid", "notes:read"],
      audience: aCode().resources,
      authTime: 900,
    });
    const { accessToken, refreshToken, idToken, ...rest } = answer as Record<string, string>;
    expect(rest).toEqual({ tokenType: "Bearer", expiresIn: 900, scope: "openid notes:read" });
    expect(refreshToken).toMatch(/^[0-9a-f]{64}$/);
    expect(family).toEqual({ id: expect.any(String), tokenHash: hashSecret(refreshToken ?? ""), ttl: 86_400, maxAge: 864_000 });
    expect(family?.id).not.toBe(grant?.id);
    expect(token).toMatchObject({ sub: aSubject().userId, aud: aCode().resources, client_id: "notes-app", exp: NOW + 900 });
    expect(claimsOf(idToken ?? "")).toMatchObject({
      typ: "JWT",
      sub: aSubject().userId,
      aud: "notes-app",
      nonce: "n-1",
      auth_time: 900,
      iat: NOW,
      exp: NOW + 600,
    });
    expect(audit).toEqual({
      event: "token.issued",
      outcome: "success",
      actor: { type: "user", id: aSubject().userId },
      userId: aSubject().userId,
      clientId: "notes-app",
      grantType: "authorization_code",
      scope: "openid notes:read",
      resources: aCode().resources,
      jti: token.jti,
      grantId: grant?.id,
      requestId: "r1",
    });
    expect(accessToken).not.toBe(idToken);
  });

  test("returns no refresh token and no ID token where neither was granted", async () => {
    const client = aClient({ grantTypes: ["authorization_code"] });
    const { answer, writes } = await request(authorizationCode(), { clients: [client], code: aCode({ scopes: ["notes:read"] }) });
    expect(Object.keys(answer).sort()).toEqual(["accessToken", "expiresIn", "scope", "tokenType"]);
    expect(writes[0]?.[3]).toBeUndefined();
  });

  test("subscribes a client with a logout URI to the session before it can sign in, and names the session", async () => {
    const clients = [aClient({ backchannelLogoutUri: "https://notes.example.test/logout" })];
    const { answer, writes } = await request(authorizationCode(), { clients, code: aCode() });
    expect(writes.map(([method]) => method)).toEqual(["subscribe", "code.redeem"]);
    expect(writes[0]).toEqual(["subscribe", aCode().sessionId, "notes-app"]);
    expect(claimsOf((answer as { idToken: string }).idToken).sid).toBe(aCode().sessionId);
  });

  test("keeps how the user signed in, for the tokens of later refreshes", async () => {
    const authentication = { acr: "urn:countersign:mfa", amr: ["pwd", "otp"], requested: [], inIdToken: true };
    const { writes, token } = await request(authorizationCode(), { code: aCode({ authentication }) });
    expect([writes[0]?.[2], token]).toMatchObject([
      { authentication },
      { acr: "urn:countersign:mfa", amr: ["pwd", "otp"], auth_time: 900 },
    ]);
  });

  test("narrows the access token, and keeps the grant's audience", async () => {
    const [first = ""] = aCode().resources;
    const { writes, token } = await request(authorizationCode({ resource: [first] }), { code: aCode() });
    expect([token.aud, (writes[0]?.[2] as NewGrant | undefined)?.audience]).toEqual([first, aCode().resources]);
  });

  test("revokes the grant of a code that is redeemed twice, with one audit record", async () => {
    const { answer, writes } = await request(authorizationCode(), { code: aCode({ grantId: "g1" }) });
    expect(answer).toEqual(["invalid_grant", "code_replayed"]);
    expect(writes).toEqual([
      [
        "grant.revoke",
        "g1",
        {
          event: "code.replayed",
          outcome: "failure",
          reason: "code_replayed",
          error: "invalid_grant",
          rule: "code_unused",
          actor: { type: "client", id: "notes-app" },
          clientId: "notes-app",
          grantType: "authorization_code",
          grantId: "g1",
          requestId: "r1",
        },
      ],
    ]);
  });

  test("refuses a code that expired, or whose user was disabled, while it was redeemed", async () => {
    const { answer, writes } = await request(authorizationCode(), { code: aCode(), succeeds: false });
    expect(answer).toEqual(["invalid_grant", "code_expired"]);
    expect(writes.slice(1)).toEqual([refusedBy("invalid_grant", "code_expired", "code_unexpired", "authorization_code")]);
  });

  test("revokes the grant of a concurrent redemption that came first", async () => {
    const found = [aCode(), aCode({ grantId: "g2" })];
    const ports = ({ codes }: CorePorts) => ({ codes: { ...codes, byHash: async () => found.shift(), redeem: async () => false } });
    const { answer, writes } = await request(authorizationCode(), { ports });
    expect([answer, writes.map((write) => write.slice(0, 2))]).toEqual([["invalid_grant", "code_replayed"], [["grant.revoke", "g2"]]]);
  });

  test("refuses an unknown code and a missing parameter", async () => {
    expect((await request(authorizationCode())).answer).toEqual(["invalid_grant", "code_unknown"]);
    expect((await request(authorizationCode({ codeVerifier: "" }), { code: aCode() })).answer).toEqual([
      "invalid_request",
      "code_verifier_missing",
    ]);
    const unheld = aClient({ grantTypes: ["client_credentials"] });
    expect((await request(authorizationCode(), { clients: [unheld], code: aCode() })).answer).toEqual([
      "unauthorized_client",
      "grant_not_held",
    ]);
  });
});

describe("refresh_token", () => {
  test("rotates the token and issues an access token within the family's grant", async () => {
    const { answer, writes, token } = await request(refreshToken({ scope: "notes:read" }), { family: aFamily() });
    const next = (answer as { refreshToken: string }).refreshToken;
    expect(next).toMatch(/^[0-9a-f]{64}$/);
    expect(answer).toMatchObject({ tokenType: "Bearer", expiresIn: 900, scope: "notes:read" });
    expect(token).toMatchObject({ sub: aSubject().userId, aud: aFamily().audience, scope: "notes:read", exp: NOW + 900 });
    expect(writes).toEqual([
      [
        "family.rotate",
        aFamily().familyId,
        hashSecret(TOKEN),
        { hash: hashSecret(next), ttl: 86_400 },
        {
          event: "token.issued",
          outcome: "success",
          actor: { type: "client", id: "notes-app" },
          userId: aSubject().userId,
          clientId: "notes-app",
          grantType: "refresh_token",
          scope: "notes:read",
          resources: aFamily().audience,
          jti: token.jti,
          grantId: aFamily().grantId,
          requestId: "r1",
        },
      ],
    ]);
  });

  test("revokes the family of a used token", async () => {
    const { answer, writes } = await request(refreshToken(), { family: aFamily({ usedAt: 990 }) });
    expect(answer).toEqual(["invalid_grant", "refresh_token_replayed"]);
    expect(writes).toEqual([
      [
        "family.revoke",
        aFamily().familyId,
        {
          event: "refresh_token.replayed",
          outcome: "failure",
          reason: "refresh_token_replayed",
          error: "invalid_grant",
          rule: "refresh_token_unused",
          actor: { type: "client", id: "notes-app" },
          userId: aSubject().userId,
          clientId: "notes-app",
          grantType: "refresh_token",
          grantId: aFamily().grantId,
          requestId: "r1",
        },
      ],
    ]);
  });

  test("evaluates again after a lost race", async () => {
    const found = [aFamily(), aFamily({ usedAt: 1000 })];
    const ports = ({ families }: CorePorts) => ({
      families: { ...families, holding: async () => found.shift(), rotate: async () => false },
    });
    const { answer, writes } = await request(refreshToken(), { ports });
    expect(answer).toEqual(["invalid_grant", "refresh_token_replayed"]);
    expect(writes.map(([method]) => method)).toEqual(["family.revoke"]);
  });

  test("asks to retry when a current token cannot be rotated twice in a row", async () => {
    const { answer, writes } = await request(refreshToken(), { family: aFamily(), succeeds: false });
    expect(answer).toEqual(["temporarily_unavailable", "refresh_not_settled"]);
    expect(writes.map(([method]) => method)).toEqual(["family.rotate", "family.rotate"]);
    const { core } = await memoryCore({ family: aFamily(), succeeds: false });
    const call = core.token(create(TokenRequestSchema, { client: basic, ...refreshToken() }), {});
    await expect(call).rejects.toMatchObject({ detail: { retryAfter: 1 } });
  });

  test("returns the same successor to a repeated request at a core that signs by another key already", async () => {
    const [old, fresh] = [0, 1].map(() =>
      signingKey(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
    );
    const ringOf = (...accessToken: KeyRing["accessToken"]) => openKeys({ accessToken }, { publish: async () => [] });
    const [before, after] = [await ringOf(old as SigningKey), await ringOf(fresh as SigningKey, old as SigningKey)];
    const at =
      (keys: Keys) =>
      ({ lifetimes }: CorePorts) => ({ keys, lifetimes: { ...lifetimes, refreshReuseGrace: 10 } });
    const first = await request(refreshToken(), { family: aFamily(), ports: at(before) });
    const { refreshToken: successor } = first.answer as { refreshToken: string };
    const used = aFamily({ usedAt: NOW - 9, currentHash: hashSecret(successor) });
    const second = await request(refreshToken(), { family: used, ports: at(after) });
    expect(second.answer).toMatchObject({ refreshToken: successor });
  });

  test("the first request after the process stood still waits until its key is marked again", async () => {
    let now = 0;
    const key = signingKey(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());
    const keys = await openKeys({ accessToken: [key] }, { publish: async () => [] }, () => now);
    now += 600;
    const { token } = await request(refreshToken(), { family: aFamily(), ports: () => ({ keys }) });
    expect(token).toHaveProperty("jti");
  });

  test("returns the same successor to a repeated request within the grace period, without another rotation", async () => {
    const grace = ({ lifetimes }: CorePorts) => ({ lifetimes: { ...lifetimes, refreshReuseGrace: 10 } });
    const first = await request(refreshToken(), { family: aFamily(), ports: grace });
    const next = (first.answer as { refreshToken: string }).refreshToken;
    expect(next).not.toMatch(/^(..)\1+$/); // the core's random bytes would repeat
    const used = aFamily({ usedAt: 995, currentHash: hashSecret(next) });
    const second = await request(refreshToken(), { family: used, ports: grace });
    expect(second.answer).toMatchObject({ refreshToken: next });
    expect(second.writes.map(([method]) => method)).toEqual(["audit.recordIssue"]);
    expect(second.writes[0]?.[1]).toMatchObject({ event: "token.issued", grantType: "refresh_token", jti: second.token.jti });
    const late = await request(refreshToken(), { family: { ...used, usedAt: 990 }, ports: grace });
    expect(late.answer).toEqual(["invalid_grant", "refresh_token_replayed"]);
  });

  test("refuses a token that is bound to a key, without a proof", async () => {
    const { answer } = await request(refreshToken(), { family: aFamily({ cnf: { jkt: "thumb" } }) });
    expect(answer).toEqual(["invalid_dpop_proof", "dpop_missing"]);
  });

  test("refuses an unknown token", async () => {
    const { answer, writes } = await request(refreshToken());
    expect(answer).toEqual(["invalid_grant", "refresh_token_unknown"]);
    expect(writes).toEqual([refusedBy("invalid_grant", "refresh_token_unknown", "refresh_token_known", "refresh_token")]);
    const unheld = aClient({ grantTypes: [] });
    expect((await request(refreshToken(), { clients: [unheld], family: aFamily() })).answer).toEqual([
      "unauthorized_client",
      "grant_not_held",
    ]);
  });
});

describe("the client of a token request", () => {
  test("is authenticated before a missing grant is refused", async () => {
    expect((await request({})).answer).toEqual(["unsupported_grant_type", "grant_missing"]);
    const wrong = { basic: { clientId: "notes-app", clientSecret: "wrong" }, address: "192.0.2.1" };
    const { answer, writes } = await request({ client: wrong });
    expect([answer, writes]).toEqual([["invalid_client", "wrong_secret"], [["throttle.failed", "notes-app", "192.0.2.1"]]]);
  });

  test("leaves no audit record when its authentication fails", async () => {
    const wrong = { basic: { clientId: "notes-app", clientSecret: "wrong" } };
    const { answer, writes } = await request({ client: wrong, ...refreshToken() }, { family: aFamily() });
    expect([answer, writes]).toEqual([["invalid_client", "wrong_secret"], [["throttle.failed", "notes-app", ""]]]);
  });

  const url = "https://app.example.test/client.json";
  const documented = aClient({ clientId: url, origin: "metadata_document", tokenEndpointAuthMethod: "none", secretHash: null });
  const named = { clientId: url, address: "192.0.2.1" };
  const ports = () => ({ documents: { byUrl: () => Promise.reject(new Error("nothing is fetched for a token request")) } });

  test("of a metadata document is taken from the code or family, without a fetch", async () => {
    const issued = aCode({ clientId: url, documentClient: documented });
    const { answer } = await request({ client: named, ...authorizationCode() }, { code: issued, ports });
    expect(answer).toMatchObject({ scope: "openid notes:read" });
    const family = aFamily({ clientId: url, documentClient: documented });
    expect((await request({ client: named, ...refreshToken() }, { family, ports })).answer).toMatchObject({ expiresIn: 900 });
  });

  test.for<readonly [string, Sent, MemoryWorld, readonly string[]]>([
    [
      "a code of another client",
      authorizationCode(),
      { code: aCode({ documentClient: documented }), ports },
      ["invalid_grant", "nothing_granted_to_document"],
    ],
    [
      "a code without the document",
      authorizationCode(),
      { code: aCode({ clientId: url }), ports },
      ["invalid_grant", "nothing_granted_to_document"],
    ],
    ["an unknown code", authorizationCode(), { ports }, ["invalid_grant", "nothing_granted_to_document"]],
    ["a missing parameter", authorizationCode({ redirectUri: "" }), { ports }, ["invalid_request", "redirect_uri_missing"]],
    ["a grant that presents nothing", clientCredentials({ scope: "a" }), { ports }, ["invalid_client", "client_unknown"]],
    [
      "a server without metadata documents",
      authorizationCode(),
      { code: aCode({ clientId: url, documentClient: documented }) },
      ["invalid_client", "client_unknown"],
    ],
  ])("of a metadata document is refused for %s", async ([, grant, world, refusal]) => {
    expect((await request({ client: named, ...grant }, world)).answer).toEqual(refusal);
  });

  test("is unknown when its id is not a document URL, even if the code has a document", async () => {
    const issued = aCode({ clientId: "unknown", documentClient: documented });
    const { answer } = await request({ client: { clientId: "unknown" }, ...authorizationCode() }, { code: issued, ports });
    expect(answer).toEqual(["invalid_client", "client_unknown"]);
  });

  test("is authenticated before the code is read", async () => {
    const byHash = () => Promise.reject(new Refusal("temporarily_unavailable", "database_gone"));
    const ports = ({ codes }: CorePorts) => ({ codes: { ...codes, byHash } });
    const wrong = { basic: { clientId: "notes-app", clientSecret: "wrong" } };
    expect((await request({ client: wrong, ...authorizationCode() }, { ports })).answer).toEqual(["invalid_client", "wrong_secret"]);
  });
});

describe("every token request", () => {
  test("issues nothing after the call's deadline or while the clocks disagree", async () => {
    const message = create(TokenRequestSchema, { client: basic, ...clientCredentials({ scope: "notes:read" }) });
    const { core } = await memoryCore({ ports: () => ({ clocks: clocksAt(() => NOW) }) });
    expect(await ask(core, "token", message, { notAfter: NOW - 1 })).toEqual(["temporarily_unavailable", "deadline_passed"]);
    expect(await ask(core, "token", message, { notAfter: NOW })).toMatchObject({ expiresIn: 900 });
    const assertTrue = async () => {
      throw new Refusal("temporarily_unavailable", "clock_uncertain");
    };
    const apart = await memoryCore({ ports: () => ({ clocks: clocksAt(() => NOW, { isTrue: () => false, assertTrue }) }) });
    expect(await ask(apart.core, "token", message)).toEqual(["temporarily_unavailable", "clock_uncertain"]);
    expect(apart.writes).toEqual([]);
  });
});
