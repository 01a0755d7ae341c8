import { type Client, isConfidential } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { TokenExchangeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { TOKEN_EXCHANGE } from "../../../protocol/grants.ts";
import { GRANT_HELD } from "../../policy/grant-type.ts";
import type { Rule } from "../../policy/rule.ts";

export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";
export const ID_JAG_TYPE = "urn:ietf:params:oauth:token-type:id-jag";

/** Who asks, and for what: all that can be judged before anything is looked up. */
export interface ExchangeRequest {
  readonly client: Client;
  readonly grant: TokenExchangeGrant;
}

export const invalid = (reason: string): never => {
  throw new Refusal("invalid_request", reason);
};

function assertConfidential({ client }: ExchangeRequest): void {
  if (!isConfidential(client)) throw new Refusal("invalid_client", "public_client");
}

function assertAgent({ client }: ExchangeRequest): void {
  if (!client.isAgent) throw new Refusal("unauthorized_client", "not_an_agent");
}

function assertComplete({ grant }: ExchangeRequest): void {
  const missing = (name: string): never => {
    throw new Refusal("invalid_request", `${name}_missing`, { description: `${name} is missing.` });
  };
  if (grant.subjectToken === "") missing("subject_token");
  if (grant.subjectTokenType === "") missing("subject_token_type");
}

function assertTokenTypes({ grant }: ExchangeRequest): void {
  if (grant.subjectTokenType !== ACCESS_TOKEN_TYPE) invalid("subject_token_type_unsupported");
  if (grant.actorTokenType !== undefined && grant.actorTokenType !== ACCESS_TOKEN_TYPE) invalid("actor_token_type_unsupported");
  if (![undefined, ACCESS_TOKEN_TYPE, ID_JAG_TYPE].includes(grant.requestedTokenType)) invalid("requested_token_type_unsupported");
}

function assertActorPair({ grant }: ExchangeRequest): void {
  const unpaired = (reason: string): never => {
    throw new Refusal("invalid_request", reason, { description: "actor_token and actor_token_type go together." });
  };
  if (grant.actorToken !== undefined && grant.actorTokenType === undefined) unpaired("actor_token_type_missing");
  if (grant.actorToken === undefined && grant.actorTokenType !== undefined) unpaired("actor_token_missing");
}

/** Whether what is asked for is an identity assertion for another authorization server. */
export const mintsAssertion = ({ grant }: ExchangeRequest): boolean => grant.requestedTokenType === ID_JAG_TYPE;

/** The draft has no place for rich authorization requests, and one audience alone. */
function assertAssertionForm(request: ExchangeRequest): void {
  if (!mintsAssertion(request)) return;
  if (request.grant.authorizationDetailsPresent) invalid("authorization_details_unsupported");
  if (request.grant.audience.length !== 1) invalid("audience_not_one");
}

/** What can be judged before anything is looked up, in order. */
export const REQUEST_RULES: readonly Rule<ExchangeRequest>[] = [
  {
    name: "confidential_client",
    demand: "The agent proves who it is; a public client may not act for anybody.",
    source: "specification §4.7 rule 2",
    assert: assertConfidential,
  },
  { name: "agent", demand: "The client is an agent (isAgent).", source: "specification §4.7 rule 1", assert: assertAgent },
  { ...GRANT_HELD, source: "specification §4.7 rule 1", assert: ({ client }) => GRANT_HELD.assert({ client, grantType: TOKEN_EXCHANGE }) },
  {
    name: "parameters_present",
    demand: "subject_token and subject_token_type are there.",
    source: "RFC 8693 §2.1",
    assert: assertComplete,
  },
  {
    name: "token_types",
    demand: "All token types are access_token; what is asked for may also be id-jag.",
    source: "specification §4.7 rule 6",
    assert: assertTokenTypes,
  },
  {
    name: "actor_token_with_its_type",
    demand: "actor_token and actor_token_type come together, or neither.",
    source: "specification §4.7 rule 6, RFC 8693 §2.1",
    assert: assertActorPair,
  },
  {
    name: "assertion_request",
    demand: "An identity assertion is asked for with one audience and without authorization_details.",
    source: "ID-JAG §4.3",
    assert: assertAssertionForm,
  },
];
