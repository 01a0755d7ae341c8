import { isConfidential } from "../../../clients/client.ts";
import { Refusal, refusing } from "../../../errors.ts";
import type { TokenExchangeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import type { Rule } from "../../policy/rule.ts";
import { ACCESS_TOKEN_TYPE, GRANT_HELD, type GrantRequest, PARAMETERS_PRESENT } from "../grant.ts";

const SOURCE = "docs/protocol.md#token-exchange";
export const ID_JAG_TYPE = "urn:ietf:params:oauth:token-type:id-jag";

export type ExchangeRequest = Pick<GrantRequest<"tokenExchange">, "client" | "grant">;

const invalid = refusing("invalid_request");

/** Whether the request is for an identity assertion, to be presented to another authorization server. */
export const requestsAssertion = ({ requestedTokenType }: TokenExchangeGrant): boolean => requestedTokenType === ID_JAG_TYPE;

/** Evaluated before anything is looked up, in order. They refuse with invalid_client, unauthorized_client or invalid_request. */
export const REQUEST_RULES: readonly Rule<ExchangeRequest>[] = [
  {
    name: "confidential_client",
    demand: "The agent authenticates; a public client may not act for anyone.",
    source: SOURCE,
    check: ({ client }) => isConfidential(client) || refusing("invalid_client")("public_client"),
  },
  {
    name: "agent",
    demand: "The client is an agent (isAgent).",
    source: SOURCE,
    check: ({ client }) =>
      client.isAgent ||
      refusing("unauthorized_client")("not_an_agent", "The client is not an agent (isAgent): ask an operator to make it one."),
  },
  { ...GRANT_HELD, source: SOURCE },
  { ...PARAMETERS_PRESENT, demand: "subject_token and subject_token_type are present.", source: "RFC 8693 §2.1" },
  {
    name: "token_types",
    demand: "All token types are access_token; the requested one may also be id-jag.",
    source: SOURCE,
    check: ({ grant: { value } }) => {
      if (value.subjectTokenType !== ACCESS_TOKEN_TYPE)
        invalid("subject_token_type_unsupported", `subject_token_type must be ${ACCESS_TOKEN_TYPE}.`);
      if (value.actorTokenType !== undefined && value.actorTokenType !== ACCESS_TOKEN_TYPE)
        invalid("actor_token_type_unsupported", `actor_token_type must be ${ACCESS_TOKEN_TYPE}.`);
      if (![undefined, ACCESS_TOKEN_TYPE, ID_JAG_TYPE].includes(value.requestedTokenType))
        invalid("requested_token_type_unsupported", `requested_token_type must be ${ACCESS_TOKEN_TYPE} or ${ID_JAG_TYPE}.`);
    },
  },
  {
    name: "actor_token_with_its_type",
    demand: "actor_token and actor_token_type are sent together, or neither is.",
    source: "RFC 8693 §2.1",
    check: ({ grant: { value } }) => {
      const unpaired = (reason: string): never => {
        throw new Refusal("invalid_request", reason, { description: "actor_token and actor_token_type go together." });
      };
      if (value.actorToken !== undefined && value.actorTokenType === undefined) unpaired("actor_token_type_missing");
      if (value.actorToken === undefined && value.actorTokenType !== undefined) unpaired("actor_token_missing");
    },
  },
  {
    name: "no_authorization_details",
    demand: "The request has no authorization_details.",
    source: "RFC 9396 §5",
    check: ({ grant: { value } }) =>
      !value.authorizationDetailsPresent ||
      invalid("authorization_details_unsupported", "authorization_details is not supported: use scope and resource."),
  },
  {
    name: "assertion_request",
    demand: "An identity assertion is requested with one audience.",
    source: "ID-JAG §4.3",
    check: ({ grant: { value } }) =>
      !requestsAssertion(value) ||
      value.audience.length === 1 ||
      invalid("audience_not_one", "Send audience once: the issuer of the server that the identity assertion is for."),
  },
];
