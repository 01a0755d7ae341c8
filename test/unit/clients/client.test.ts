import { expect, test } from "vitest";
import { type Client, mayExchange } from "../../../src/clients/client.ts";
import { clientsAmong } from "../../../src/clients/find-client.ts";
import { REQUEST_RULES } from "../../../src/core/grants/token-exchange/request-rules.ts";
import { ENFORCED } from "../../../src/core/policy/rule.ts";
import { TOKEN_EXCHANGE } from "../../../src/protocol/grants.ts";
import { aClient, exchangeGrant } from "../../support/builders.ts";

const agent: Partial<Client> = { isAgent: true, grantTypes: [TOKEN_EXCHANGE], tokenEndpointAuthMethod: "client_secret_basic" };

const passesRules = (client: Client): boolean => {
  try {
    for (const rule of REQUEST_RULES) ENFORCED.check(rule, { client, grant: { case: "tokenExchange", value: exchangeGrant() } });
    return true;
  } catch {
    return false;
  }
};

test.for([
  [{}, true],
  [{ tokenEndpointAuthMethod: "private_key_jwt" }, true],
  [{ tokenEndpointAuthMethod: "none" }, false],
  [{ isAgent: false }, false],
  [{ grantTypes: ["client_credentials"] }, false],
] as const)("an agent with %j may exchange tokens: %s, in agreement with the grant rules", ([change, may]) => {
  const client = aClient({ ...agent, ...change });
  expect([mayExchange(client), passesRules(client)]).toEqual([may, may]);
});

test("a disabled agent may not exchange tokens", () => {
  expect(mayExchange(aClient({ ...agent, enabled: false }))).toBe(false);
});

test("finds the clients among client_ids, with one look-up each", async () => {
  const lookedUp: string[] = [];
  const byClientId = async (clientId: string) => {
    lookedUp.push(clientId);
    return clientId === "a" ? aClient({ ...agent, clientId, name: "Agent A" }) : undefined;
  };
  const found = await clientsAmong(["a", "https://crm.example", "a"], { byClientId });
  expect([...found]).toEqual([["a", expect.objectContaining({ clientId: "a", name: "Agent A" })]]);
  expect(lookedUp).toEqual(["a", "https://crm.example"]);
});
