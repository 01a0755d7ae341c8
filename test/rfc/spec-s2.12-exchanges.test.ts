import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { statement } from "../../src/store/sql.ts";
import { sweep } from "../../src/store/sweep.ts";
import { ACCESS_TOKEN, DELEGATION_CLIENTS, TOKEN_EXCHANGE } from "../support/delegation.ts";
import { basicAuth } from "../support/flow.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ provision: { ...PROVISIONED, clients: DELEGATION_CLIENTS } });
});
afterAll(() => server.close());

const FORM = `grant_type=${encodeURIComponent(TOKEN_EXCHANGE)}&subject_token=x&subject_token_type=${encodeURIComponent(ACCESS_TOKEN)}`;
const right = (agent: string) => ({ authorization: basicAuth(agent, `${agent}-secret`) });

async function ask(body: string, headers: Record<string, string> = {}, query = "") {
  const response = await fetch(`${server.url}/oauth/token${query}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body,
  });
  const { error } = (await response.json()) as { error: string };
  return { status: response.status, error, requestId: response.headers.get("x-request-id") };
}

const recordsOf = (requestId: string | null) =>
  server.database.sql.query<object>(
    statement(
      "test_exchange_record",
      `select event, outcome, reason, error, client_id, actor_id, grant_type, act_chain, address, repeats from audit_records where request_id = $1`,
    ),
    [requestId],
  );

const refused = (clientId: string, reason: string, error: string) => [
  {
    event: "token.refused",
    outcome: "failure",
    reason,
    error,
    client_id: clientId,
    actor_id: clientId,
    grant_type: TOKEN_EXCHANGE,
    act_chain: [clientId],
    address: "127.0.0.1",
    repeats: null,
  },
];

describe("docs/protocol.md#audit: a refused exchange that names an agent writes an audit record", () => {
  test.for([
    ["a wrong secret", "agent-1", FORM, { authorization: basicAuth("agent-1", "wrong") }, "", "wrong_secret", "invalid_client"],
    ["a posted wrong secret", "agent-2", `${FORM}&client_id=agent-2&client_secret=no`, {}, "", "wrong_secret", "invalid_client"],
    ["no secret", "agent-1", `${FORM}&client_id=agent-1`, {}, "", "method_not_registered", "invalid_client"],
    ["two methods", "agent-1", `${FORM}&client_secret=x`, right("agent-1"), "", "several_methods", "invalid_client"],
    ["a repeated parameter", "agent-1", `${FORM}&scope=a&scope=b`, right("agent-1"), "", "parameter_repeated", "invalid_request"],
    ["a repeated grant_type", "agent-2", `${FORM}&grant_type=x`, right("agent-2"), "", "parameter_repeated", "invalid_request"],
    ["a bad encoding", "agent-1", `${FORM}&scope=%zz`, right("agent-1"), "", "bad_percent_encoding", "invalid_request"],
    ["a secret in the query", "agent-1", FORM, right("agent-1"), "?client_secret=x", "credential_in_query", "invalid_request"],
    ["a malformed header", "agent-3", `${FORM}&client_id=agent-3`, { authorization: "Basic ???" }, "", "", "invalid_client"],
  ] as const)("%s is recorded", async ([, agent, body, headers, query, reason, error]) => {
    const answer = await ask(body, headers, query);
    expect(answer).toMatchObject({ status: error === "invalid_client" ? 401 : 400, error });
    const records = await recordsOf(answer.requestId);
    expect(records).toEqual(refused(agent, reason || (records[0] as { reason: string }).reason, error));
  });

  test.for([
    ["an unknown client", `${FORM}&client_id=unknown&client_secret=x`],
    ["a client that is not an agent", `${FORM}&client_id=not-agent&client_secret=x`],
    ["no client", `${FORM}&scope=a&scope=b`],
    ["a NUL in the name", `${FORM}&client_id=a%00b&scope=a&scope=b`],
    ["another grant", "grant_type=client_credentials&client_id=agent-1&client_secret=wrong&scope=a&scope=b"],
  ] as const)("%s writes no record", async ([, body]) => {
    expect(await recordsOf((await ask(body)).requestId)).toEqual([]);
  });

  test("130 refusals of one agent and address write one record of each reason at once, and one with the count of the others", async () => {
    const answers = await Promise.all(Array.from({ length: 130 }, () => ask(FORM, { authorization: basicAuth("agent-5", "wrong") })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429])); // of a hundred failures the agent is throttled
    const recorded = () =>
      server.database.sql.query<{ reason: string; repeats: number | null }>(
        statement("test_flood", "select reason, repeats from audit_records where client_id = 'agent-5' and event = 'token.refused'"),
        [],
      );
    const first = await recorded();
    expect(new Set(first.map(({ reason }) => reason))).toEqual(new Set(["wrong_secret", "client_authentication_throttled"]));
    expect(first.length).toBeLessThanOrEqual(4); // the minute may end in between
    await server.database.sql.query(
      statement("test_minute_over", "update refused_exchanges set minute = minute - interval '2 minutes' where client_id = 'agent-5'"),
      [],
    );
    await sweep(server.database.sql);
    const records = await recorded();
    expect(records.filter(({ repeats }) => repeats !== null).length).toBeGreaterThan(0);
    expect(records.reduce((sum, { repeats }) => sum + (repeats ?? 1), 0)).toBe(130);
    await sweep(server.database.sql);
    expect(await recorded()).toEqual(records);
  });
});
