import { describe, expect, test } from "vitest";
import { developerChange, operatorChange } from "../../../src/management/client-rules.ts";
import { ClientPatch, CreateClientInput, OperatorClientPatch } from "../../../src/management/inputs.ts";
import { aClient, refusalOf } from "../../support/builders.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

describe("a developer's patch of a client", () => {
  test("keeps members that are not sent", () => {
    const client = aClient();
    const { settings, secret } = developerChange(client, { name: "New" });
    expect(settings).toMatchObject({ name: "New", redirectUris: client.redirectUris, scopes: client.scopes, enabled: true });
    expect(secret).toBe("kept");
  });

  test("keeps grants that only operators set, and derives response types from the grants", () => {
    const client = aClient({ grantTypes: ["authorization_code", EXCHANGE] });
    expect(developerChange(client, { grantTypes: ["client_credentials"] }).settings).toMatchObject({
      grantTypes: ["client_credentials", EXCHANGE],
      responseTypes: [],
    });
  });

  test("with null deletes the description", () => {
    expect(developerChange(aClient({ description: "d" }), { description: null }).settings.description).toBeNull();
  });

  test("may keep and drop a scope that an operator added, but not add it", () => {
    const given = aClient({ scopes: ["clients:manage"] });
    expect(developerChange(given, { scopes: ["clients:manage", "x"] }).settings.scopes).toEqual(["clients:manage", "x"]);
    expect(refusalOf(() => developerChange(aClient(), { scopes: ["clients:manage"] }))).toEqual(["forbidden", "scope_is_the_operators"]);
  });

  test("drops the secret when the new method does not use it", () => {
    const client = aClient({ grantTypes: ["authorization_code"] });
    for (const [method, secret] of [
      ["client_secret_post", "kept"],
      ["private_key_jwt", "dropped"],
      ["none", "dropped"],
    ] as const) {
      expect(developerChange(client, { tokenEndpointAuthMethod: method }).secret).toBe(secret);
    }
  });

  test("accepts requirePkce without effect", () => {
    expect(developerChange(aClient(), ClientPatch.parse({ requirePkce: false })).settings).not.toHaveProperty("requirePkce");
  });
});

test("an environment that does not permit the client's redirect URIs is refused", () => {
  const local = aClient({ environment: "development", redirectUris: ["http://localhost:3000/cb"] });
  expect(refusalOf(() => operatorChange(local, { environment: "production" }))).toEqual(["invalid_request", "client_incoherent"]);
  expect(operatorChange(local, { environment: "production", redirectUris: ["https://a.test/cb"] }).settings.environment).toBe("production");
});

test("a built-in client cannot be changed", () => {
  expect(refusalOf(() => operatorChange(aClient({ origin: "built_in" }), { name: "x" }))).toEqual(["forbidden", "client_is_built_in"]);
});

test("an empty key set is stored as null", () => {
  expect(OperatorClientPatch.parse({ jwks: { keys: [] } }).jwks).toBeNull();
});

test("lists are deduplicated, and private key members are refused", () => {
  expect(
    CreateClientInput.parse({ name: "x", scopes: ["a", "a"], grantTypes: ["client_credentials", "client_credentials"] }),
  ).toMatchObject({
    scopes: ["a"],
    grantTypes: ["client_credentials"],
  });
  for (const member of ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"]) {
    expect(OperatorClientPatch.safeParse({ jwks: { keys: [{ kty: "RSA", [member]: "x" }] } }).success).toBe(false);
  }
});

test.for(["redirectUris", "scopes", "grantTypes", "responseTypes"] as const)(
  "of a list %s that is too long no entry is named",
  (member) => {
    for (const input of [CreateClientInput, ClientPatch, OperatorClientPatch]) {
      const { error } = input.safeParse({ name: "Mine", [member]: Array.from({ length: 30_000 }, () => 1) });
      expect(error?.issues.map(({ path, code }) => [path.join("."), code])).toEqual([[member, "too_big"]]);
    }
  },
);
