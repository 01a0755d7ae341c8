import { type Client, isConfidential } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { ClientCredentialsGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { printScope } from "../../../protocol/scope.ts";
import type { Core } from "../../core.ts";
import { clientAudience } from "../../policy/resource.ts";
import { assertRules, type Rule } from "../../policy/rule.ts";
import { clientScopes } from "../../policy/scope.ts";
import { newJti } from "../../tokens/access-token.ts";
import { accessTokenAnswer } from "../token-answer.ts";

export interface IssuedTokenFacts {
  readonly client: Client;
  readonly grant: ClientCredentialsGrant;
}

const scopesOf = ({ client, grant }: IssuedTokenFacts) => clientScopes(grant.scope, client);
const audienceFor = ({ client, grant }: IssuedTokenFacts) => clientAudience(grant.resource, client);

function assertConfidential({ client }: IssuedTokenFacts): void {
  if (!isConfidential(client)) throw new Refusal("unauthorized_client", "public_client");
}

/** In order. */
export const CLIENT_CREDENTIALS_RULES: readonly Rule<IssuedTokenFacts>[] = [
  {
    name: "confidential_client",
    demand: "The client proves who it is; a public client has nothing in its own name.",
    source: "RFC 6749 §4.4",
    assert: assertConfidential,
  },
  {
    name: "scope",
    demand: "At least one scope, all of them in the client's allowlist and under its ceiling, none that needs a person.",
    source: "specification §4.7",
    assert: scopesOf,
  },
  {
    name: "resource",
    demand: "resource lies within the client's audience, which is its client_id unless an operator said otherwise.",
    source: "specification §2.2 and §4.7",
    assert: audienceFor,
  },
];

/**
 * What a client may have in its own name. Pure.
 * @throws {Refusal} unauthorized_client for a public client, invalid_scope, invalid_target
 * @see RFC 6749 §4.4, specification §4.7
 */
export function decideClientCredentials(client: Client, grant: ClientCredentialsGrant) {
  const facts = { client, grant };
  assertRules(CLIENT_CREDENTIALS_RULES, facts);
  return { scopes: scopesOf(facts), audience: audienceFor(facts) };
}

export async function clientCredentialsGrant(grant: ClientCredentialsGrant, client: Client, requestId: string, core: Core) {
  const { scopes, audience } = decideClientCredentials(client, grant);
  const jti = newJti(core.randomBytes);
  // The record and the signature need not wait for each other, but the answer waits for both: no record, no token. The record is asked for
  // first, so that the database is at work while we sign.
  const recorded = core.audit.recordIssue({
    event: "token.issued",
    outcome: "success",
    actor: { type: "client", id: client.clientId },
    clientId: client.clientId,
    grantType: "client_credentials",
    scope: printScope(scopes),
    resources: audience,
    jti,
    requestId,
  });
  const signed = accessTokenAnswer({ subject: client.clientId, client, scopes, audience, jti, lifetime: core.lifetimes.accessToken }, core);
  const [answer] = await Promise.all([signed, recorded]);
  return answer;
}
