import { describe, expect, test } from "vitest";
import { operatorChange } from "../../../src/management/client-rules.ts";
import { parseProvisionFile } from "../../../src/management/provision.ts";
import { provisionedChange } from "../../../src/management/provisioned-client.ts";
import { aClient, refusalOf } from "../../support/builders.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

const fileClient = (members: object) => {
  const [client] = parseProvisionFile(JSON.stringify({ clients: [{ clientId: "spa", name: "Spa", ...members }] })).clients;
  if (client === undefined) throw new Error("the file holds one client");
  return client;
};

describe("a file gives a client no grant that the API would refuse it", () => {
  test.for([
    ["client_credentials", ["client_credentials"]],
    ["token exchange beside codes", ["authorization_code", EXCHANGE]],
    ["identity assertions", [JWT_BEARER]],
  ] as const)("a public client: %s", ([, grantTypes]) => {
    const refused = ["invalid_request", "client_incoherent"];
    const file = fileClient({ grantTypes, tokenEndpointAuthMethod: "none" });
    const before = aClient({ grantTypes: ["authorization_code"], responseTypes: ["code"], tokenEndpointAuthMethod: "none" });
    const patch = { grantTypes: file.grantTypes, tokenEndpointAuthMethod: file.tokenEndpointAuthMethod };
    expect(refusalOf(() => operatorChange(before, patch))).toEqual(refused);
    expect(refusalOf(() => provisionedChange(file, undefined, before))).toEqual(refused);
    expect(refusalOf(() => provisionedChange(file, undefined, undefined))).toEqual(refused);
  });

  test("what an earlier file has left stands, so that the start after an upgrade is not called off", () => {
    const left = { grantTypes: ["client_credentials"], tokenEndpointAuthMethod: "none" } as const;
    const before = aClient({ ...left, responseTypes: [], name: "Old" });
    expect(provisionedChange(fileClient(left), undefined, before).settings).toMatchObject({ ...left, name: "Spa" });
  });

  test("with a secret, and with codes alone, there is nothing to refuse", () => {
    const secret = fileClient({ grantTypes: ["client_credentials", EXCHANGE], tokenEndpointAuthMethod: "client_secret_post" });
    expect(provisionedChange(secret, undefined, undefined).settings.grantTypes).toEqual(secret.grantTypes);
    const open = fileClient({ grantTypes: ["authorization_code", "refresh_token"], tokenEndpointAuthMethod: "none" });
    expect(provisionedChange(open, undefined, undefined).settings.grantTypes).toEqual(open.grantTypes);
  });
});
