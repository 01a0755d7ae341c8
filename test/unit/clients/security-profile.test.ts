import { describe, expect, test } from "vitest";
import { CLIENT_ASSERTION_ALGORITHMS, demandsEdDsa, demandsOf, OPERATOR_AUTH_METHODS } from "../../../src/clients/client.ts";
import { incoherences } from "../../../src/clients/coherence.ts";
import { aClient } from "../../support/builders.ts";

const demands = (members: Parameters<typeof aClient>[0]) => demandsOf(aClient(members));

describe("the demands on a client", () => {
  test("without a profile are what it has chosen", () => {
    const none = {
      pushedRequests: false,
      boundTokens: false,
      authMethods: OPERATOR_AUTH_METHODS,
      algorithms: CLIENT_ASSERTION_ALGORITHMS,
      proofAhead: Number.POSITIVE_INFINITY,
      issuerAudience: false,
      codeLifetime: Number.POSITIVE_INFINITY,
      rotation: true,
    };
    expect(demands({})).toEqual(none);
    expect(demands({ requirePushedAuthorizationRequests: true })).toEqual({ ...none, pushedRequests: true });
    expect(demands({ dpopBoundAccessTokens: true })).toEqual({ ...none, boundTokens: true });
  });

  test("with fapi2 are those of FAPI 2.0, whatever else is set", () => {
    expect(demands({ securityProfile: "fapi2", dpopBoundAccessTokens: false })).toEqual({
      pushedRequests: true,
      boundTokens: true,
      authMethods: ["private_key_jwt"],
      algorithms: ["ES256", "PS256", "EdDSA", "Ed25519"],
      proofAhead: 60,
      issuerAudience: true,
      codeLifetime: 60,
      rotation: false,
    });
  });

  test("with fapi2 include EdDSA for what is signed for it", () => {
    expect([demandsEdDsa({ securityProfile: "fapi2" }), demandsEdDsa({ securityProfile: null })]).toEqual([true, false]);
  });

  test.for(OPERATOR_AUTH_METHODS.map((method) => [method, method === "private_key_jwt"] as const))(
    "%s goes with fapi2: %s",
    ([method, goes]) => {
      const found = incoherences(aClient({ securityProfile: "fapi2", tokenEndpointAuthMethod: method }));
      expect(found.map(({ path }) => path)).toEqual(goes ? [] : ["tokenEndpointAuthMethod"]);
    },
  );
});
