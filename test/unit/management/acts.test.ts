import { expect, test } from "vitest";
import { actsOf, actsOnClient, actsOnUser, mayMakeClients } from "../../../src/management/acts.ts";
import { aClient } from "../../support/builders.ts";

const caller = { userId: "ada", role: "operator", clientId: "countersign", scopes: [] } as const;
const policy = { mode: "closed", domains: [], developers: "role" } as const;

test("an operator operates only with a token of the service itself, and cannot invite while SIGN_UP is closed", () => {
  expect(actsOf(caller, policy)).toEqual({ operate: true, createClients: true, inviteUsers: false });
  expect(actsOf({ ...caller, clientId: "assistant", scopes: ["server:manage"] }, { ...policy, mode: "open" })).toEqual({
    operate: false,
    createClients: true,
    inviteUsers: false,
  });
});

test.for([
  ["user", "all", true],
  ["user", "role", false],
  ["developer", "role", true],
  ["developer", "operators", false],
  ["operator", "operators", true],
] as const)("%s with DEVELOPERS=%s may make clients: %s", ([role, rule, may]) => {
  expect(mayMakeClients(role, rule)).toBe(may);
});

test("a built-in client cannot be changed or deleted, and a client without a secret gets none", () => {
  const client = aClient({ origin: "built_in", tokenEndpointAuthMethod: "none", environment: "production" });
  const none = { update: false, delete: false, regenerateSecret: false, setOperatorAttributes: false, createApiKeys: false };
  expect(actsOnClient(caller, client)).toEqual(none);
});

test("operators cannot disable, delete or demote themselves", () => {
  expect(actsOnUser(caller, "ada")).toEqual({ disable: false, delete: false, setRole: false });
  expect(actsOnUser(caller, "bob")).toEqual({ disable: true, delete: true, setRole: true });
});
