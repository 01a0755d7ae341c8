import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { TokenRequestSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { parseForm } from "../../../src/protocol/form.ts";
import { assertGrantComplete, GRANT_TYPES, parseGrant, SELF_SERVICE_GRANT_TYPES } from "../../../src/protocol/grants.ts";
import { refusalText } from "../../support/builders.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("parsing a grant", () => {
  test.for([
    [
      "grant_type=authorization_code&code=c&redirect_uri=u&code_verifier=v&resource=r&resource=q",
      { case: "authorizationCode", value: { code: "c", redirectUri: "u", codeVerifier: "v", resource: ["r", "q"] } },
    ],
    [
      "grant_type=refresh_token&refresh_token=t&scope=a+b",
      { case: "refreshToken", value: { refreshToken: "t", scope: "a b", resource: [] } },
    ],
    ["grant_type=client_credentials", { case: "clientCredentials", value: { resource: [] } }],
    ["grant_type=client_credentials&scope=", { case: "clientCredentials", value: { resource: [] } }],
    [
      `grant_type=${EXCHANGE}&subject_token=s&subject_token_type=t&actor_token=a&actor_token_type=y&audience=x&audience=z&requested_token_type=q`,
      {
        case: "tokenExchange",
        value: {
          subjectToken: "s",
          subjectTokenType: "t",
          actorToken: "a",
          actorTokenType: "y",
          resource: [],
          audience: ["x", "z"],
          requestedTokenType: "q",
        },
      },
    ],
    [`grant_type=${JWT_BEARER}&assertion=a`, { case: "jwtBearer", value: { assertion: "a", resource: [] } }],
    [
      `grant_type=${JWT_BEARER}&assertion=a&authorization_details=%5B%5D`,
      { case: "jwtBearer", value: { assertion: "a", resource: [], authorizationDetailsPresent: true } },
    ],
  ] as const)("parses %s", ([form, expected]) => {
    expect(plain(parseGrant(parseForm(form), GRANT_TYPES))).toEqual(expected);
  });

  test.for([
    ["", "invalid_request grant_type_missing"],
    ["grant_type=", "invalid_request grant_type_missing"],
    ["grant_type=password&username=u&password=p", "unsupported_grant_type grant_type_unsupported"],
    ["grant_type=implicit", "unsupported_grant_type grant_type_unsupported"],
    ["grant_type=client_Credentials", "unsupported_grant_type grant_type_unsupported"],
    ["grant_type=toString", "unsupported_grant_type grant_type_unsupported"],
    [`grant_type=${JWT_BEARER}&assertion=a`, "unsupported_grant_type grant_type_unsupported"],
    ["grant_type=authorization_code&code=c&authorization_details=[]", "invalid_authorization_details authorization_details_unsupported"],
    ["grant_type=client_credentials&authorization_details=[]", "invalid_authorization_details authorization_details_unsupported"],
  ] as const)("%s is refused", ([form, expected]) => {
    expect(refusalText(() => parseGrant(parseForm(form), SELF_SERVICE_GRANT_TYPES))).toBe(expected);
  });
});

describe("completeness of a grant", () => {
  test.for([
    ["grant_type=authorization_code&redirect_uri=u&code_verifier=v", "invalid_request code_missing"],
    ["grant_type=authorization_code&code=c&code_verifier=v", "invalid_request redirect_uri_missing"],
    ["grant_type=authorization_code&code=c&redirect_uri=u", "invalid_request code_verifier_missing"],
    ["grant_type=refresh_token", "invalid_request refresh_token_missing"],
    [`grant_type=${EXCHANGE}&subject_token_type=t`, "invalid_request subject_token_missing"],
    [`grant_type=${EXCHANGE}&subject_token=t`, "invalid_request subject_token_type_missing"],
    [`grant_type=${JWT_BEARER}`, "invalid_request assertion_missing"],
    ["grant_type=client_credentials", "accepted"],
    ["grant_type=authorization_code&code=c&redirect_uri=u&code_verifier=v", "accepted"],
  ] as const)("the grant %s: %s", ([form, expected]) => {
    const { grant } = create(TokenRequestSchema, { grant: parseGrant(parseForm(form), GRANT_TYPES) });
    expect(refusalText(() => assertGrantComplete({ grant }))).toBe(expected);
  });
});
