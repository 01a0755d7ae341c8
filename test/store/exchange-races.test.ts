import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { tokenCore } from "../../src/core/service.ts";
import { signJwt } from "../../src/core/signing/jws.ts";
import { accessTokenClaims, newJti } from "../../src/core/tokens/access-token.ts";
import { isRefusal } from "../../src/errors.ts";
import { type TokenRequest, TokenRequestSchema } from "../../src/gen/countersign/token/v1/token_pb.ts";
import { TOKEN_EXCHANGE } from "../../src/protocol/grants.ts";
import { hashSecret } from "../../src/random.ts";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { delegations } from "../../src/store/delegations.ts";
import { grants } from "../../src/store/grants.ts";
import type { Database } from "../../src/store/orm.ts";
import { type Sql, statement } from "../../src/store/sql.ts";
import { anAudit, anId } from "../support/accounts.ts";
import { coreOver, ISSUER } from "../support/core.ts";
import { databaseKinds } from "../support/database.ts";
import { ACCESS_TOKEN } from "../support/delegation.ts";
import { aClient, anOpenFamily, aScene } from "../support/grants.ts";

const EVERYONE = { kind: "everyone" } as const;
const disabled = (sql: Sql, table: "users" | "clients", column: "id" | "client_id", key: string) =>
  sql.query(statement(`test_overtaken_${table}`, `update ${table} set enabled = false where ${column}::text = $1`), [key]);

describe.each(databaseKinds)("revocation during an exchange on $name", ({ fresh }) => {
  let database: Database;
  let shared: Awaited<ReturnType<typeof coreOver>>;
  beforeAll(async () => {
    database = await fresh();
    shared = await coreOver(database.sql, systemClock);
  });
  afterAll(() => database.close());

  /** A user's token for an agent, and a core that runs `interfere` just before it stores an exchange. */
  async function aScenario(interfere: (known: { agent: string; userId: string; grantId: string }) => Promise<unknown>) {
    const { sql } = database;
    const { ports, key } = shared;
    const scene = await aScene(sql);
    const { grant } = await anOpenFamily(sql, scene);
    const { clientId: agent } = await aClient(sql, {
      isAgent: true,
      grantTypes: [TOKEN_EXCHANGE],
      tokenEndpointAuthMethod: "client_secret_basic",
      secretHash: hashSecret("s"),
    });
    const contents = { issuer: ISSUER, subject: scene.userId, audience: [agent], clientId: scene.clientId, scopes: ["crm:read"] };
    const claims = accessTokenClaims({ ...contents, jti: newJti(randomBytes, grant.id), now: systemClock(), lifetime: 900 });
    const subjectToken = await signJwt(claims, "at+jwt", key);
    const core = tokenCore({
      ...ports,
      delegations: {
        async record(...given) {
          await interfere({ agent, userId: scene.userId, grantId: grant.id });
          return delegations(sql).record(...given);
        },
      },
    });
    const exchange = async () => {
      const requestId = anId();
      const request = create(TokenRequestSchema, {
        client: { basic: { clientId: agent, clientSecret: "s" }, address: anId() },
        requestId,
        grant: { case: "tokenExchange", value: { subjectToken, subjectTokenType: ACCESS_TOKEN } },
      }) as TokenRequest;
      const outcome = await core.token(request, {}).then(
        () => "granted",
        (error: unknown) => (isRefusal(error) ? `${error.code} ${error.reason} ${error.detail.rule}` : error),
      );
      return { outcome, requestId };
    };
    return { agent, exchange };
  }

  const recorded = (requestId: string) =>
    database.sql.query(statement("test_overtaken_records", "select event, reason from audit_records where request_id = $1"), [requestId]);

  const pause = ({ agent }: { agent: string }) => agentPauses(database.sql).pause(EVERYONE, agent, anAudit("agent.paused"));

  test.for<[string, Parameters<typeof aScenario>[0], string]>([
    ["the agent is paused", pause, "unauthorized_client agent_paused agent_not_paused"],
    [
      "the grant is revoked",
      ({ grantId }) => grants(database.sql).revoke(grantId, anAudit("delegation.cut")),
      "invalid_request subject_token_ended subject_token_lives",
    ],
    [
      "the user is disabled",
      ({ userId }) => disabled(database.sql, "users", "id", userId),
      "invalid_request subject_user_disabled subject_user_enabled",
    ],
    [
      "the agent is disabled",
      ({ agent }) => disabled(database.sql, "clients", "client_id", agent),
      "invalid_client client_disabled client_enabled",
    ],
  ])("%s: the refusal and its audit record name the rule that no longer holds", async ([, interfere, expected]) => {
    const { exchange } = await aScenario(interfere);
    const { outcome, requestId } = await exchange();
    expect(outcome).toBe(expected);
    expect(await recorded(requestId)).toEqual([{ event: "token.refused", reason: expected.split(" ")[1] }]);
  });

  test("64 exchanges during a pause: each is granted or refused with agent_paused", async () => {
    let asked = 0;
    const { exchange } = await aScenario(async (known) => {
      asked += 1;
      if (asked === 32) await pause(known);
    });
    const outcomes = await Promise.all(Array.from({ length: 64 }, exchange));
    const kinds = new Set(outcomes.map(({ outcome }) => outcome));
    expect([...kinds].filter((kind) => kind !== "granted")).toEqual(["unauthorized_client agent_paused agent_not_paused"]);
  });
});
