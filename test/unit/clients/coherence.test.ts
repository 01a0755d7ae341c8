import { describe, expect, test } from "vitest";
import { impliedResponseTypes, incoherences, uselessGrants } from "../../../src/clients/coherence.ts";
import { aClient } from "../../support/builders.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const paths = (members: Parameters<typeof aClient>[0]) => incoherences(aClient(members)).map(({ path }) => path);

describe("coherence of a client's members", () => {
  test.for([
    ["as it is", {}, []],
    ["no redirect URI yet", { redirectUris: [] }, []],
    ["private_key_jwt without keys yet", { tokenEndpointAuthMethod: "private_key_jwt" }, []],
    ["code without authorization_code", { grantTypes: ["client_credentials"] }, []],
    ["authorization_code without code", { responseTypes: [] }, ["responseTypes"]],
    ["public with codes", { tokenEndpointAuthMethod: "none", grantTypes: ["authorization_code", "refresh_token"] }, []],
    ["http on loopback in production", { redirectUris: ["https://a.test/", "http://127.0.0.1/cb"] }, ["redirectUris.1"]],
    ["http on loopback in staging", { redirectUris: ["http://127.0.0.1/cb"], environment: "staging" }, []],
    ["http on loopback, unset", { redirectUris: ["http://127.0.0.1/cb"], environment: null }, []],
    ["https on a private host, unset", { redirectUris: ["https://intranet/cb"], environment: null }, ["redirectUris.0"]],
    ["a scheme without a dot, public", { redirectUris: ["cursor://cb"], tokenEndpointAuthMethod: "none" }, []],
    ["a scheme without a dot, confidential", { redirectUris: ["cursor://cb"] }, ["redirectUris.0"]],
    ["a parameter of the response", { redirectUris: ["https://a.test/?st%61te=1"] }, ["redirectUris.0"]],
    ["back-channel logout by https", { backchannelLogoutUri: "https://a.test/logout?x=1" }, []],
    ["back-channel logout by http", { backchannelLogoutUri: "http://a.test/logout", environment: "development" }, ["backchannelLogoutUri"]],
    ["back-channel logout on loopback, in development", { backchannelLogoutUri: "http://127.0.0.1/", environment: "development" }, []],
    ["back-channel logout on loopback, in production", { backchannelLogoutUri: "http://127.0.0.1/" }, ["backchannelLogoutUri"]],
    ["back-channel logout by ftp", { backchannelLogoutUri: "ftp://127.0.0.1/", environment: "development" }, ["backchannelLogoutUri"]],
    ["back-channel logout with a user", { backchannelLogoutUri: "https://a@a.test/" }, ["backchannelLogoutUri"]],
    ["back-channel logout with a password", { backchannelLogoutUri: "https://:b@a.test/" }, ["backchannelLogoutUri"]],
    ["back-channel logout with a fragment", { backchannelLogoutUri: "https://a.test/#x" }, ["backchannelLogoutUri"]],
    ["back-channel logout at no URL", { backchannelLogoutUri: "a.test" }, ["backchannelLogoutUri"]],
    ["keys in its record alone", { jwks: { keys: [] } }, []],
    ["keys at a URL alone", { jwksUri: "https://a.test/jwks" }, []],
    ["keys twice", { jwks: { keys: [] }, jwksUri: "https://a.test/jwks" }, ["jwksUri"]],
  ] as const)("%s", ([, members, expected]) => {
    expect(paths(members)).toEqual(expected);
  });
});

test.for([
  ["public and acting for itself", { tokenEndpointAuthMethod: "none", grantTypes: ["client_credentials"] }, 1],
  ["public and exchanging", { tokenEndpointAuthMethod: "none", grantTypes: ["authorization_code", EXCHANGE] }, 1],
  ["public with codes", { tokenEndpointAuthMethod: "none", grantTypes: ["authorization_code", "refresh_token"] }, 0],
  ["with a secret", { tokenEndpointAuthMethod: "client_secret_post", grantTypes: ["client_credentials", EXCHANGE] }, 0],
] as const)("unusable grants of a client: %s", ([, members, faults]) => {
  expect(uselessGrants(members)).toHaveLength(faults);
});

test("response types default to those of the grants", () => {
  expect(impliedResponseTypes(["authorization_code", "refresh_token"])).toEqual(["code"]);
  expect(impliedResponseTypes(["client_credentials"])).toEqual([]);
});
