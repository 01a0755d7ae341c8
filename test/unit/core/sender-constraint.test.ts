import { generateKeyPairSync, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { type Client, MANAGE_CLIENTS } from "../../../src/clients/client.ts";
import { verifyBearer } from "../../../src/core/bearer.ts";
import { clientCredentials } from "../../../src/core/grants/client-credentials/grant.ts";
import { accessTokenAnswer } from "../../../src/core/grants/grant.ts";
import { refreshToken } from "../../../src/core/grants/refresh-token/grant.ts";
import { tokenExchange } from "../../../src/core/grants/token-exchange/grant.ts";
import { introspect, prefetchStates } from "../../../src/core/introspection.ts";
import type { Core, FamilyState, NewDelegation } from "../../../src/core/ports.ts";
import { issuedTokens } from "../../../src/core/signing/jws.ts";
import { signingKey } from "../../../src/core/signing/keys.ts";
import type { Confirmation } from "../../../src/core/stored-grants.ts";
import { type AccessTokenClaims, newJti } from "../../../src/core/tokens/access-token.ts";
import { AccessTokenUse } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { TOKEN_EXCHANGE } from "../../../src/protocol/grants.ts";
import { aClient, aFamily, aSubject, aTokenState, clientGrant, exchangeGrant, refreshGrant } from "../../support/builders.ts";

const ISSUER = "https://issuer.example.test";
const GRANT = "01900000-0000-7000-8000-00000000000d";
const DPOP: Confirmation = { jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" };
const MTLS: Confirmation = { "x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2" };

const key = signingKey(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());
const keys = { signing: () => ({ accessToken: key, idToken: key, hybrid: undefined }), own: [key], byId: () => key, hybrid: undefined };
const agent = aClient({ clientId: "agent", isAgent: true, grantTypes: [TOKEN_EXCHANGE], scopes: ["notes:read"] });

/** A core in which every write of a grant succeeds. */
function aCore() {
  const stored: NewDelegation[] = [];
  const members = {
    issuer: ISSUER,
    clock: () => 1000,
    randomBytes,
    lifetimes: { accessToken: 900, refreshToken: 3_600, refreshReuseGrace: 0 },
    keys,
    issuedTokens: issuedTokens(ISSUER, keys as unknown as Core["keys"]),
    selfContained: false,
    audit: { recordIssue: async () => undefined },
    clients: { byClientId: async () => undefined },
    resources: { of: async () => [] },
    families: { rotate: async () => true },
    delegations: { record: async (delegation: NewDelegation) => stored.push(delegation) > 0 },
    tokens: { of: async () => aTokenState() },
  };
  return { core: members as unknown as Core, stored }; // the members that these grants use
}

const request = <Grant>(client: Client, grant: Grant, more: { confirmation?: Confirmation; family?: FamilyState } = {}) => ({
  client,
  grant,
  requestId: "request",
  refusalDetails: {},
  prefetched: { family: Promise.resolve(more.family) },
  ...(more.confirmation && { confirmation: more.confirmation }),
});
const claimsOf = (token: string | undefined) =>
  JSON.parse(Buffer.from(token?.split(".")[1] ?? "", "base64url").toString()) as AccessTokenClaims;
const userToken = (core: Core, client: Client, cnf?: Confirmation) =>
  accessTokenAnswer(
    {
      subject: aSubject().userId,
      client,
      scopes: ["openid", "notes:read", MANAGE_CLIENTS],
      audience: ["agent", ISSUER],
      jti: newJti(randomBytes, GRANT),
      lifetime: 900,
      cnf,
    },
    core,
  );

test.for([
  ["RFC 9449 §5: a key proven by DPoP", DPOP, "DPoP"],
  ["RFC 8705 §3: a certificate proven by mutual TLS", MTLS, "Bearer"],
] as const)("%s binds the token", async ([, confirmation, tokenType]) => {
  const { core } = aCore();
  const grant = { case: "clientCredentials", value: clientGrant({ scope: "notes:read" }) } as const;
  const client = aClient({ grantTypes: ["client_credentials"] });
  const answer = await clientCredentials.issue(request(client, grant, { confirmation }), core);
  expect([claimsOf(answer.accessToken).cnf, answer.tokenType]).toEqual([confirmation, tokenType]);
});

test("a token of a bound refresh family is bound to the same key", async () => {
  const { core } = aCore();
  const grant = { case: "refreshToken", value: refreshGrant() } as const;
  const family = aFamily({ cnf: DPOP });
  const client = aClient({ grantTypes: ["refresh_token"] });
  expect(claimsOf((await refreshToken.issue(request(client, grant, { family, confirmation: DPOP }), core)).accessToken).cnf).toEqual(DPOP);
  const unbound = await refreshToken.issue(request(client, grant, { family: aFamily() }), core);
  expect([claimsOf(unbound.accessToken).cnf, unbound.tokenType]).toEqual([undefined, "Bearer"]);
});

test.for([
  ["introspection shows a JWK thumbprint", DPOP, { tokenType: "DPoP", cnf: { jkt: DPOP.jkt } }],
  ["introspection shows a certificate thumbprint", MTLS, { tokenType: "Bearer", cnf: { x5tS256: MTLS["x5t#S256"] } }],
] as const)("RFC 8705 §3.2, RFC 9449 §6.2: %s", async ([, cnf, expected]) => {
  const { core } = aCore();
  const { accessToken } = await userToken(core, agent, cnf);
  const [prefetched] = prefetchStates([accessToken], core);
  expect(prefetched && (await introspect(prefetched, agent, core))).toMatchObject({ active: true, ...expected });
});

test("a derived token is bound to the key that the agent proved, not to the subject token's key", async () => {
  const { core, stored } = aCore();
  const { accessToken: subjectToken } = await userToken(core, aClient(), DPOP);
  const grant = { case: "tokenExchange", value: exchangeGrant({ subjectToken, scope: "notes:read" }) } as const;
  await expect(tokenExchange.issue(request(agent, grant), core)).rejects.toMatchObject({ reason: "dpop_missing" });
  const proven = await tokenExchange.issue(request(agent, grant, { confirmation: MTLS }), core);
  expect(claimsOf(proven.accessToken).cnf).toEqual(MTLS);
  expect(stored.map(({ cnf }) => cnf)).toEqual([MTLS]);
});

test("the server's own routes refuse a bound token that is presented as a bearer token", async () => {
  const { core } = aCore();
  const { accessToken } = await userToken(core, aClient(), DPOP);
  await expect(verifyBearer(accessToken, AccessTokenUse.USERINFO, core)).rejects.toMatchObject({ reason: "token_bound" });
  const { accessToken: unbound } = await userToken(core, aClient());
  expect(await verifyBearer(unbound, AccessTokenUse.USERINFO, core)).toMatchObject({ sub: aSubject().userId });
});

test("a token with an unknown confirmation method is inactive", async () => {
  const { core } = aCore();
  const { accessToken } = await userToken(core, agent, { other: "x" } as Confirmation);
  const [prefetched] = prefetchStates([accessToken], core);
  expect(prefetched && (await introspect(prefetched, agent, core))).toEqual({ active: false });
});
