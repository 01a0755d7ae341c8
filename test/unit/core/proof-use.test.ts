import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { proofNonces } from "../../../src/core/dpop.ts";
import type { CorePorts } from "../../../src/core/ports.ts";
import { accessTokenClaims, newJti } from "../../../src/core/tokens/access-token.ts";
import { Refusal } from "../../../src/errors.ts";
import {
  AccessTokenUse,
  AuthorizeDeviceRequestSchema,
  type ClientCredentialSchema,
  PushAuthorizationRequestSchema,
  TokenRequestSchema,
  VerifyAccessTokenRequestSchema,
} from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { DEVICE_CODE, TOKEN_EXCHANGE } from "../../../src/protocol/grants.ts";
import { hashSecret, identifierHash } from "../../../src/random.ts";
import { ASSERTION_TYPE, anAssertion, keyFor } from "../../support/assertions.ts";
import { aClient, aCode, aFamily, aSubject, VERIFIER } from "../../support/builders.ts";
import { aProof, proofKey, thumbprintOf } from "../../support/dpop.ts";
import { ask, claimsOf, ISSUER, type MemoryWorld, memoryCore, NOW, tokenOf } from "../../support/memory-core.ts";

type Credential = MessageInitShape<typeof ClientCredentialSchema>;
type Sent = NonNullable<MessageInitShape<typeof TokenRequestSchema>["grant"]>;

const key = proofKey();
const jkt = thumbprintOf(key);
const url = `${ISSUER}/oauth/token`;
const proofOf = (claims: object = {}) => ({
  dpop: { proof: aProof(key, { url, claims: { iat: NOW, jti: "j", ...claims } }), htm: "POST", htu: url },
});
const secret = { basic: { clientId: "notes-app", clientSecret: "the-secret" } };

async function request(grant: Sent, world: MemoryWorld = {}, credential: Credential = { ...secret, ...proofOf() }) {
  const { core, writes } = await memoryCore(world);
  const answer = await ask(core, "token", create(TokenRequestSchema, { client: credential, grant }));
  return { answer, writes, methods: writes.map(([method]) => method) };
}

const code = { case: "authorizationCode", value: { code: "code", redirectUri: aCode().redirectUri, codeVerifier: VERIFIER } } as const;
const refreshToken = { case: "refreshToken", value: { refreshToken: "a".repeat(64) } } as const;
const clientCredentials = { case: "clientCredentials", value: { scope: "notes:read" } } as const;
const deviceCode = { case: "deviceCode", value: { deviceCode: "device code" } } as const;
const agent = aClient({ isAgent: true, grantTypes: [TOKEN_EXCHANGE] });
const userClaims = (members: object) => ({
  ...accessTokenClaims({
    ...{ issuer: ISSUER, subject: aSubject().userId, audience: ["notes-app"], clientId: "notes-app", scopes: ["openid"], now: NOW },
    ...{ lifetime: 600, jti: newJti((size) => new Uint8Array(size), aFamily().grantId) },
  }),
  ...members,
});
async function exchange() {
  const claims = userClaims({ client_id: "web", scope: "notes:read" });
  const subjectTokenType = "urn:ietf:params:oauth:token-type:access_token";
  return { case: "tokenExchange", value: { subjectToken: await tokenOf(claims), subjectTokenType } } as const;
}

const assertionKey = keyFor("ES256", "k1");
const fapi = aClient({
  securityProfile: "fapi2",
  tokenEndpointAuthMethod: "private_key_jwt",
  secretHash: null,
  jwks: { keys: [assertionKey.jwk] },
});

describe("docs/protocol.md#proof-of-possession: a proof is used up", () => {
  /** What the store notes in the statement: the identifier under which `consume` would note it, and the seconds for which. */
  const proof = { id: Buffer.from(identifierHash(jkt, "j")).toString("hex"), ttl: 301 };

  test.for<readonly [effect: string, grant: () => Sent | Promise<Sent>, world: MemoryWorld]>([
    ["code.redeem", () => code, { code: aCode() }],
    ["family.rotate", () => refreshToken, { family: aFamily() }],
    ["audit.recordIssue", () => clientCredentials, {}],
    ["delegation.record", exchange, { clients: [agent] }],
  ])("in the statement of the effect: %s", async ([effect, grant, world]) => {
    const { answer, writes, methods } = await request(await grant(), world);
    expect(methods).toEqual([effect]);
    expect(writes[0]?.at(-1)).toMatchObject({ event: "token.issued", proof });
    const { accessToken, tokenType } = answer as { accessToken: string; tokenType: string };
    expect([tokenType, claimsOf(accessToken).cnf]).toEqual(["DPoP", { jkt }]);
  });

  test("in the statement that keeps a refresh token, where the client's profile does not rotate it", async () => {
    const clientAssertion = anAssertion(assertionKey, { clientId: "notes-app", audience: ISSUER, now: NOW });
    const credential = { assertion: { clientAssertionType: ASSERTION_TYPE, clientAssertion }, ...proofOf() };
    const { writes, methods } = await request(refreshToken, { clients: [fapi], family: aFamily() }, credential);
    expect([methods, writes[1]?.at(-1)]).toEqual([["consume", "family.keep"], expect.objectContaining({ proof })]);
    expect(writes[0]?.[1]).toBe("client_assertion");
  });

  test("before the effect, where a grant writes more than one thing", async () => {
    const device = {
      ...{ id: "d", deviceCodeHash: hashSecret("device code"), clientId: "notes-app", scopes: ["notes:read"], resources: [], address: "" },
      ...{ expiresAt: NOW + 1, deniedAt: null, dpopJkt: null, now: NOW },
    };
    const approved = aCode({ redirectUri: "", codeChallenge: "", resources: [], scopes: ["notes:read"] });
    const { writes, methods } = await request(deviceCode, { clients: [aClient({ grantTypes: [DEVICE_CODE] })], device, code: approved });
    expect(methods).toEqual(["consume", "code.redeem"]);
    expect(writes[0]).toEqual(["consume", "dpop_proof", jkt, "j", 301, undefined]);
    expect(writes[1]?.at(-1)).not.toHaveProperty("proof");
  });

  test("before a used refresh token revokes its family", async () => {
    const { answer, methods } = await request(refreshToken, { family: aFamily({ usedAt: NOW - 100 }) });
    expect([answer, methods]).toEqual([
      ["invalid_grant", "refresh_token_replayed"],
      ["consume", "family.revoke"],
    ]);
  });

  test("by a refusal, once the effect is not written", async () => {
    const world = { code: aCode(), ports: ({ codes }: CorePorts) => ({ codes: { ...codes, redeem: async () => false } }) };
    const { answer, methods } = await request(code, world);
    expect([answer, methods]).toEqual([
      ["invalid_grant", "code_expired"],
      ["consume", "audit.record"],
    ]);
  });

  test("not by an outage, after which the same request may be repeated", async () => {
    const outage = () => Promise.reject(new Refusal("temporarily_unavailable", "database_gone"));
    const { answer, methods } = await request(clientCredentials, { ports: ({ audit }) => ({ audit: { ...audit, recordIssue: outage } }) });
    expect([answer, methods]).toEqual([["temporarily_unavailable", "database_gone"], []]);
  });
});

describe("RFC 9449 §7: an access token at the server's own routes", () => {
  const route = `${ISSUER}/api/userinfo`;
  const verify = async (cnf: object | undefined, by = key, proven: object = {}) => {
    const { core, writes } = await memoryCore();
    const accessToken = await tokenOf(userClaims(cnf === undefined ? {} : { cnf }));
    const proof = aProof(by, { url: route, accessToken, claims: { iat: NOW, jti: "j", ...proven } });
    const request = create(VerifyAccessTokenRequestSchema, {
      accessToken,
      use: AccessTokenUse.USERINFO,
      dpop: { proof, htm: "POST", htu: route },
    });
    return { answer: await ask(core, "verifyAccessToken", request), writes };
  };

  test("is accepted with a proof by its key, which is used up", async () => {
    const { answer, writes } = await verify({ jkt });
    expect([answer, writes]).toEqual([expect.objectContaining({ sub: aSubject().userId }), [["consume", "dpop_proof", jkt, "j", 301]]]);
    expect(answer).not.toHaveProperty("dpopNonce");
  });

  test.for<readonly [string, Parameters<typeof verify>, readonly [string, string]]>([
    ["bound to nothing", [undefined], ["invalid_token", "token_not_bound"]],
    ["bound to a certificate", [{ "x5t#S256": "c" }], ["invalid_token", "token_not_bound"]],
    ["with a proof by another key", [{ jkt }, proofKey()], ["invalid_token", "dpop_key_differs"]],
    ["with the proof for another token", [{ jkt }, key, { ath: "x" }], ["invalid_dpop_proof", "dpop_token_differs"]],
  ])("is refused %s, and the proof is not used up", async ([, sent, refusal]) => {
    expect(await verify(...sent)).toEqual({ answer: refusal, writes: [] });
  });
});

describe("RFC 9449 §8.2: a proof with the nonce of the last period", () => {
  const nonceAt = ({ proofNonces: nonces }: CorePorts, now: number): unknown => {
    try {
      return nonces?.assertFresh(undefined, now);
    } catch (error) {
      return (error as Refusal).detail.dpopNonce;
    }
  };
  const withNonces = ({ keys }: CorePorts) => ({ proofNonces: proofNonces(keys) });
  const client = aClient({ grantTypes: ["authorization_code", "client_credentials", DEVICE_CODE] });
  const redirectUri = client.redirectUris[0] as string;
  const pushed = {
    ...{ clientId: "notes-app", redirectUri, responseType: "code", codeChallenge: "c".repeat(43), codeChallengeMethod: "S256" },
    scope: "notes:read",
  };
  test("is accepted at the server's own routes, whose answer has the nonce that replaces it", async () => {
    const { core, ports } = await memoryCore({ ports: withNonces });
    const accessToken = await tokenOf(userClaims({ cnf: { jkt } }));
    const proof = aProof(key, { url, accessToken, claims: { iat: NOW, nonce: nonceAt(ports, NOW - 150) } });
    const request = { accessToken, use: AccessTokenUse.USERINFO, dpop: { proof, htm: "POST", htu: url } };
    const answer = await ask(core, "verifyAccessToken", create(VerifyAccessTokenRequestSchema, request));
    expect(answer).toMatchObject({ dpopNonce: nonceAt(ports, NOW) });
  });

  test.for<readonly ["token" | "pushAuthorization" | "authorizeDevice", (credential: Credential) => unknown]>([
    ["token", (credential) => create(TokenRequestSchema, { client: credential, grant: clientCredentials })],
    ["pushAuthorization", (credential) => create(PushAuthorizationRequestSchema, { client: credential, request: pushed })],
    ["authorizeDevice", (credential) => create(AuthorizeDeviceRequestSchema, { client: credential, scope: "notes:read" })],
  ])("is accepted by %s, whose answer has the nonce that replaces it", async ([method, requestOf]) => {
    const { core, ports } = await memoryCore({ clients: [client], ports: withNonces });
    const by = (nonce: unknown) => ask(core, method, requestOf({ ...secret, ...proofOf({ nonce }) }));
    expect(await by(nonceAt(ports, NOW - 150))).toMatchObject({ dpopNonce: nonceAt(ports, NOW) });
    expect(((await by(nonceAt(ports, NOW))) as { dpopNonce?: unknown }).dpopNonce).toBeUndefined();
  });
});
