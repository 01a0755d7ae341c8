import { type Client, isConfidential } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { JwtBearerGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { JWT_BEARER } from "../../../protocol/grants.ts";
import { GRANT_HELD, PARAMETERS_PRESENT } from "../../policy/grant-type.ts";
import { assertRules, type Rule, type RuleHead } from "../../policy/rule.ts";
import type { IdentityAssertion } from "./assertion.ts";
import {
  assertedActors,
  assertedResources,
  assertedScopes,
  assertedSubject,
  assertForUsAndNow,
  assertNothingUnheeded,
  SKEW,
} from "./assertion-rules.ts";

export interface AssertionGrantFacts {
  readonly client: Client;
  readonly grant: JwtBearerGrant;
}

export const GRANT_SERVED: RuleHead = {
  name: "grant_served",
  demand: "Identity assertions are accepted here (ID_JAG_ENABLED).",
  source: "specification §4.7",
};

/** What is judged before the assertion is looked at, in order. */
export const ASSERTION_GRANT_RULES: readonly Rule<AssertionGrantFacts>[] = [
  {
    name: "confidential_client",
    demand: "The client proves who it is; a public client may not bring assertions.",
    source: "specification §4.7",
    assert: ({ client }) => {
      if (!isConfidential(client)) throw new Refusal("invalid_client", "public_client");
    },
  },
  { ...GRANT_HELD, assert: ({ client }) => GRANT_HELD.assert({ client, grantType: JWT_BEARER }) },
  { ...PARAMETERS_PRESENT, assert: ({ grant }) => PARAMETERS_PRESENT.assert({ grant: { case: "jwtBearer", value: grant } }) },
];

export const ASSERTION_READ: RuleHead = {
  name: "assertion_form",
  demand: "The assertion is a JWT of typ oauth-id-jag+jwt, brings no key of its own, and names a trusted issuer (ID_JAG_TRUSTED_ISSUERS).",
  source: "ID-JAG §4.4, specification §4.7",
};

export const ASSERTION_SIGNED: RuleHead = {
  name: "assertion_signed",
  demand: "A key that the issuer publishes has signed the assertion.",
  source: "specification §4.7",
};

/** An assertion whose signature has been checked, with what it is judged by. */
export interface AssertionFacts extends AssertionGrantFacts {
  readonly assertion: IdentityAssertion;
  readonly issuer: string;
  /** ID_JAG_MAX_ASSERTION_LIFETIME in seconds. */
  readonly maxLifetime: number;
  /** Seconds since the epoch. */
  readonly now: number;
}

const timesOf = ({ assertion, issuer, maxLifetime, now }: AssertionFacts) => assertForUsAndNow(assertion, issuer, maxLifetime, now);
const subjectOf = ({ assertion, client }: AssertionFacts) => assertedSubject(assertion, client);
const actorsOf = ({ assertion }: AssertionFacts) => assertedActors(assertion);
const audienceFor = ({ assertion, client, grant }: AssertionFacts) => assertedResources(assertion, grant.resource, client);
const scopesOf = ({ assertion, client, grant }: AssertionFacts) => assertedScopes(assertion, grant.scope, client);

/** What is judged by the assertion itself, in order. */
export const ASSERTION_RULES: readonly Rule<AssertionFacts>[] = [
  {
    name: "assertion_for_us_and_now",
    demand: "aud is this issuer alone; the assertion is valid now, and lives no longer than ID_JAG_MAX_ASSERTION_LIFETIME.",
    source: "ID-JAG §4.4, specification §4.7",
    assert: timesOf,
  },
  {
    name: "assertion_subject",
    demand: "The assertion names a subject, an id of its own, and this client in client_id.",
    source: "ID-JAG §4.4",
    assert: subjectOf,
  },
  {
    name: "assertion_understood",
    demand: "Neither the assertion nor the request has authorization_details, and the assertion no cnf.",
    source: "specification §4.7",
    assert: ({ assertion, grant }) => assertNothingUnheeded(assertion, grant.authorizationDetailsPresent),
  },
  {
    name: "chain_length",
    demand: "act, if there, is well-formed and names at most four actors.",
    source: "specification §8",
    assert: actorsOf,
  },
  {
    name: "resource",
    demand: "The assertion names resources, all within the client's audience; the request's resource lies within them.",
    source: "specification §4.7",
    assert: audienceFor,
  },
  {
    name: "scope",
    demand: "The request's scope lies within the assertion's, and something of it is in the client's allowlist.",
    source: "ID-JAG §4.4",
    assert: scopesOf,
  },
];

/** What the stores judge as they accept it, all at once. */
export const USER_ENABLED: RuleHead = {
  name: "user_enabled",
  demand: "The person of whom the assertion speaks is enabled, if known here.",
  source: "specification §3",
};
export const ASSERTION_UNUSED: RuleHead = {
  name: "assertion_unused",
  demand: "The assertion (jti) has not been used before.",
  source: "specification §3",
};

/**
 * What an assertion entitles the client to that presents it. Pure; the signature has been checked.
 * @throws {Refusal} invalid_grant, invalid_scope for a malformed scope
 * @see ID-JAG §4.4, specification §4.7
 */
export function decideIdentityAssertion(facts: AssertionFacts) {
  assertRules(ASSERTION_RULES, facts);
  const { assertion, now } = facts;
  const { iat, exp } = timesOf(facts);
  const { subject, jti } = subjectOf(facts);
  const { auth_time, email, email_verified } = assertion.claims;
  return {
    subject,
    jti,
    remember: exp + SKEW - now,
    act: actorsOf(facts),
    audience: audienceFor(facts),
    scopes: scopesOf(facts),
    authTime:
      Number.isSafeInteger(auth_time) && Number(auth_time) >= 0 && Number(auth_time) <= now ? Number(auth_time) : Math.min(iat, now),
    verifiedEmail: typeof email === "string" && email_verified === true ? email : undefined,
  };
}

export type AcceptedAssertion = ReturnType<typeof decideIdentityAssertion>;
