import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { tokenCore } from "../../src/core/service.ts";
import { signJwt } from "../../src/core/signing/jws.ts";
import { accessTokenClaims, newJti } from "../../src/core/tokens/access-token.ts";
import { isRefusal } from "../../src/errors.ts";
import {
  AccessTokenUse,
  IntrospectRequestSchema,
  RevokeRequestSchema,
  TokenRequestSchema,
  VerifyAccessTokenRequestSchema,
} from "../../src/gen/countersign/token/v1/token_pb.ts";
import { TOKEN_EXCHANGE } from "../../src/protocol/grants.ts";
import { hashSecret } from "../../src/random.ts";
import type { Database } from "../../src/store/orm.ts";
import { anId, auditOf } from "../support/accounts.ts";
import { coreOver, ISSUER } from "../support/core.ts";
import { databaseKinds } from "../support/database.ts";
import { ACCESS_TOKEN } from "../support/delegation.ts";
import { claimsOf } from "../support/flow.ts";
import { aClient, anOpenFamily, aScene } from "../support/grants.ts";

const confidential = { tokenEndpointAuthMethod: "client_secret_basic", secretHash: hashSecret("s") } as const;
const proving = (clientId: string) => ({ basic: { clientId, clientSecret: "s" }, address: anId() });

describe.each(databaseKinds)("tokens expire by the database's clock, on $name", ({ fresh }) => {
  let database: Database;
  let over: Awaited<ReturnType<typeof coreOver>>;
  beforeAll(async () => {
    database = await fresh();
    over = await coreOver(database.sql, systemClock);
  });
  afterAll(() => database.close());

  describe.each([
    ["ahead", 120],
    ["behind", -120],
  ] as const)("a core whose clock is 120 s %s", (_, offset) => {
    let core: ReturnType<typeof tokenCore>;
    let agent: string;
    let aToken: (secondsLeft: number) => Promise<string>;
    beforeEach(async () => {
      const { sql } = database;
      core = tokenCore({ ...over.ports, clock: () => systemClock() + offset });
      const scene = await aScene(sql);
      const { grant } = await anOpenFamily(sql, scene);
      const exchanging = { ...confidential, isAgent: true, grantTypes: [TOKEN_EXCHANGE] as const, scopes: ["openid", "crm:read"] };
      agent = (await aClient(sql, { ...exchanging, grantTypes: [TOKEN_EXCHANGE] })).clientId;
      aToken = async (secondsLeft) => {
        const who = { issuer: ISSUER, subject: scene.userId, audience: [agent], clientId: scene.clientId, scopes: ["openid", "crm:read"] };
        const now = systemClock() + secondsLeft - 900;
        const claims = accessTokenClaims({
          ...who,
          jti: newJti((length) => new Uint8Array(Buffer.from(anId()).subarray(-length)), grant.id),
          now,
          lifetime: 900,
        });
        return signJwt(claims, "at+jwt", over.key);
      };
    });

    const active = async (token: string) => {
      const { results } = await core.introspect(create(IntrospectRequestSchema, { client: proving(agent), tokens: [token] }), {});
      return results?.map(({ active: is }) => is);
    };
    const exchange = (subjectToken: string) =>
      core.token(
        create(TokenRequestSchema, {
          client: proving(agent),
          requestId: anId(),
          grant: { case: "tokenExchange", value: { subjectToken, subjectTokenType: ACCESS_TOKEN } },
        }),
        {},
      );
    const verify = (accessToken: string) =>
      core.verifyAccessToken(create(VerifyAccessTokenRequestSchema, { accessToken, use: AccessTokenUse.USERINFO }), {}).then(
        () => "good",
        (error: unknown) => isRefusal(error) && error.reason,
      );

    test("a token with 60 s left is active, verified and exchanged, and the new token does not outlive it", async () => {
      const token = await aToken(60);
      expect(await active(token)).toEqual([true]);
      expect(await verify(token)).toBe("good");
      const { accessToken = "", expiresIn = 0 } = await exchange(token);
      expect(claimsOf(accessToken).exp).toBe(claimsOf(token).exp);
      expect(expiresIn).toBeGreaterThan(0);
      expect(await active(accessToken)).toEqual([true]);
    });

    test("a token that expired 60 s ago is inactive, fails verification and cannot be exchanged", async () => {
      const token = await aToken(-60);
      expect(await active(token)).toEqual([false]);
      expect(await verify(token)).toBe("token_expired");
      await expect(exchange(token)).rejects.toMatchObject({ code: "invalid_request", reason: "subject_token_expired" });
    });

    test("revocation revokes a live token and leaves an expired one unchanged", async () => {
      const client = await aClient(database.sql, confidential);
      const own = async (secondsLeft: number) => {
        const now = systemClock() + secondsLeft - 900;
        const who = {
          issuer: ISSUER,
          subject: client.clientId,
          audience: [client.clientId],
          clientId: client.clientId,
          scopes: ["crm:read"],
        };
        return signJwt(accessTokenClaims({ ...who, jti: anId(), now, lifetime: 900 }), "at+jwt", over.key);
      };
      const revoke = (token: string) =>
        core.revoke(create(RevokeRequestSchema, { client: proving(client.clientId), token, requestId: anId() }), {});
      const records = async () => (await auditOf(database.sql, "token.revoked")).filter(({ client_id }) => client_id === client.clientId);
      const stateOf = async (token: string) =>
        (await over.ports.tokens.of({ jti: claimsOf(token).jti, clientId: client.clientId })).revoked;
      const [live, over60] = [await own(60), await own(-60)];
      await revoke(live);
      await revoke(over60);
      expect([await stateOf(live), await stateOf(over60), (await records()).length]).toEqual([true, false, 1]);
    });
  });
});
