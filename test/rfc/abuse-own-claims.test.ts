import { generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DELEGATION_CLIENTS, delegating } from "../support/delegation.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";

const { privateKey } = generateKeyPairSync("ed25519");

let server: TestServer & ReturnType<typeof delegating<TestServer>>;
let subject: string;
beforeAll(async () => {
  const started = await startServer({
    env: { JWT_PRIVATE_KEY: privateKey.export({ type: "pkcs8", format: "pem" }).toString() },
    provision: { ...PROVISIONED, clients: DELEGATION_CLIENTS },
  });
  server = { ...started, ...delegating(started) };
  ({ subject } = await server.subjectFor(["agent-1"], { scope: "openid crm:read" }));
});
afterAll(async () => server.close());

/** The same token with other claims, signed with the server's own key. */
function resigned(members: object): string {
  const [header, payload = ""] = subject.split(".");
  const claims = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), ...members };
  const input = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString("base64url")}`;
}

describe("a token signed by this server with claims that this release does not issue", () => {
  test("is accepted while its claims are well formed", async () => {
    expect((await server.exchange("agent-1", resigned({ act: { sub: "agent-2" } }))).status).toBe(200);
    expect(await server.active(resigned({}))).toBe(true);
  });

  test.for([
    ["a null act", { act: null }],
    ["a string as act", { act: "agent" }],
    ["an act without sub", { act: {} }],
    ["a null act within act", { act: { sub: "a", act: null } }],
    ["a NUL in an actor", { act: { sub: "a\0" } }],
    ["a null may_act", { may_act: null }],
    ["a NUL in the jti", { jti: "a\0b" }],
    ["a jti that names no grant", { jti: "a.b" }],
    ["a jti that names no delegation", { jti: "d.b" }],
    ["a sub that is not a UUID", { sub: "ada" }],
    ["a lone surrogate in client_id", { client_id: "\ud800" }],
    ["a NUL in aud", { aud: ["agent-1", "\0"] }],
    ["a null exchanged_from", { exchanged_from: null }],
  ] as const)("is rejected by every endpoint when it has %s", async ([, members]) => {
    const token = resigned(members);
    const bearer = { authorization: `Bearer ${token}` };
    const exchanged = await server.exchange("agent-1", token);
    expect([exchanged.status, exchanged.body.error]).toEqual([400, "invalid_request"]);
    const acting = await server.exchange("agent-1", subject, {
      actor_token: token,
      actor_token_type: "urn:ietf:params:oauth:token-type:access_token",
    });
    expect([acting.status, acting.body.error]).toEqual([400, "invalid_request"]);
    expect((await server.introspect(server.agent("crm-rs"), token)).body).toEqual({ active: false });
    expect((await server.get("/oauth/userinfo", bearer)).status).toBe(401);
    expect((await server.get("/api/clients", bearer)).status).toBe(401);
    expect((await server.form("/oauth/revoke", { token, client_id: "web", client_secret: "web-secret" })).status).toBe(200);
  });
});
