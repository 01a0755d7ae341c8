import { describe, expect, test } from "vitest";
import { parseProvisionFile } from "../../../src/management/provision.ts";

const client = { clientId: "a", name: "A", grantTypes: ["client_credentials"], tokenEndpointAuthMethod: "none" };

describe("parseProvisionFile", () => {
  test.for([
    ['{"clients":[],"users":[],"clients":[]}', "clients: is there more than once"],
    ['{"users":[{},{"a":{"b, \\"[":1},"c":[[1,2],{"\\u0061":1,"a":2}]}]}', "users.1.c.1.a: is there more than once"],
    ['{"users":1,"users":2,"realms":1,"realms":2}', "users: is there more than once\nrealms: is there more than once"],
  ] as const)("refuses a member that JSON.parse would drop: %s", ([text, message]) => {
    expect(() => parseProvisionFile(text)).toThrow(message);
  });

  test("takes the same names in different objects, and in texts of any length", () => {
    const clients = ["a", "b"].map((clientId) => ({ ...client, clientId, description: '"name":1,"name":2,[{\\"'.repeat(50) }));
    expect(parseProvisionFile(JSON.stringify({ clients })).clients).toEqual(clients);
    expect(() => parseProvisionFile(`{"x":"${"\\\\ é".repeat(1_000_000)}"}`)).toThrow("file: has unknown members: x");
  });

  test("names the place of every entry that is there again, and of the first", () => {
    const file = { clients: [client, { ...client, clientId: "b" }, client, client], users: [] };
    expect(() => parseProvisionFile(JSON.stringify(file))).toThrow(
      "clients.2: names the clientId of entry 0 again\nclients.3: names the clientId of entry 0 again",
    );
  });

  test("refuses identities of workloads for a client that authenticates otherwise", () => {
    const clients = [{ ...client, workloadIdentities: [{ issuer: "https://ci.example.test", subject: "a" }] }];
    expect(() => parseProvisionFile(JSON.stringify({ clients }))).toThrow(
      "clients.0.workloadIdentities: does not go with tokenEndpointAuthMethod none",
    );
  });
});
