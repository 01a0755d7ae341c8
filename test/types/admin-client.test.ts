import { createAdminClient, type ManagementInputs, type ManagementOutputs } from "@countersign/admin";
import { expect, test } from "vitest";

test("the types of inputs and outputs have names", () => {
  const key: ManagementInputs["apiKeys"]["create"] = { clientId: "id", key: { name: "laptop" } };
  type Listed = ManagementOutputs["apiKeys"]["list"]["apiKeys"][number];
  const masked: readonly (keyof Listed)[] = ["prefix", "last4"];
  expect([key.key.name, ...masked]).toEqual(["laptop", "prefix", "last4"]);
  expect(createAdminClient({ url: "http://localhost:3000", token: "t" })).toBeDefined();
});
