import { audienceOf, type Client, isConfidential, MAX_ACTORS } from "../../../clients/client.ts";
import { isAssertionAlgorithm } from "../../../clients/public-keys.ts";
import { Refusal, refusing } from "../../../errors.ts";
import type { JwtBearerGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { parseScope } from "../../../protocol/access.ts";
import { hasCome, hasForbiddenMember, isTime, type ParsedJwt, parseJws, parseObject, soleAudience } from "../../../protocol/jws.ts";
import { demandOf, disabledAmong, type ResourceTerms } from "../../../resources/resource.ts";
import { allowedAt, boundForm } from "../../policy/access.ts";
import { ENFORCED, type Rule, type RuleHead } from "../../policy/rule.ts";
import type { Confirmation, IdentityAssertionPorts } from "../../stored-grants.ts";
import { type Actor, isText } from "../../tokens/access-token.ts";
import { AGENT_NOT_PAUSED } from "../grant.ts";

const MAX_ASSERTION_LENGTH = 16_384;
const ASSERTION_TYPE = /^(?:application\/)?oauth-id-jag\+jwt$/i;

export const isIdentityAssertionType = (typ: unknown): boolean => typeof typ === "string" && ASSERTION_TYPE.test(typ);

/** A well-formed assertion of a trusted issuer. Its signature has not been verified. */
export type IdentityAssertion = ParsedJwt & { readonly issuer: string };

/**
 * Reads an assertion. Pure. It may name an issuer that the operator trusts and a key id of that issuer, but never a key or an address.
 * @param localIssuer this server, whose own assertions are never accepted
 * @throws {Refusal} invalid_grant
 * @see ID-JAG §4.4, RFC 8725 §3, docs/protocol.md#identity-assertion
 */
export function readIdentityAssertion(text: string, trustedIssuers: readonly string[], localIssuer: string): IdentityAssertion {
  const parsed = parseJws(text, MAX_ASSERTION_LENGTH);
  if (parsed === undefined) return refuse("assertion_malformed");
  if (hasForbiddenMember(parsed)) refuse("assertion_brings_its_key");
  const { alg, kid, typ } = parsed.header;
  if (!isIdentityAssertionType(typ)) refuse("assertion_of_another_kind");
  if (!isAssertionAlgorithm(alg)) return refuse("assertion_algorithm_not_accepted");
  if (kid !== undefined && typeof kid !== "string") return refuse("assertion_malformed");
  const claims = parseObject(parsed.payload);
  if (claims === undefined) return refuse("assertion_malformed");
  const { iss } = claims;
  if (typeof iss !== "string" || iss === localIssuer || !trustedIssuers.includes(iss)) return refuse("issuer_not_trusted");
  return { ...parsed, claims, issuer: iss };
}

/** Seconds by which another issuer's clock may be ahead. */
const SKEW = 60;
const MAX_IDENTIFIER = 255;

/** The client learns one code about an assertion; the reason is for the audit record. */
const refuse = refusing("invalid_grant");

export const GRANT_SERVED: Rule<IdentityAssertionPorts | undefined, IdentityAssertionPorts> = {
  name: "grant_served",
  demand: "Identity assertions are accepted here (ID_JAG_ENABLED).",
  source: "docs/protocol.md#identity-assertion",
  check(ports) {
    if (ports !== undefined) return ports;
    throw new Refusal("unsupported_grant_type", "grant_not_served", { description: "This grant is not served here." });
  },
};

export const CONFIDENTIAL_CLIENT: Rule<{ readonly client: Client }> = {
  name: "confidential_client",
  demand: "The client authenticates; a public client may not present assertions.",
  source: "docs/protocol.md#identity-assertion",
  check: ({ client }) => isConfidential(client) || refusing("invalid_client")("public_client"),
};

export const ASSERTION_READ: RuleHead = {
  name: "assertion_form",
  demand: "The assertion is a JWT of typ oauth-id-jag+jwt, contains no key, and names a trusted issuer (ID_JAG_TRUSTED_ISSUERS).",
  source: "ID-JAG §4.4",
};

export const ASSERTION_SIGNED: RuleHead = {
  name: "assertion_signed",
  demand: "A key that the issuer publishes has signed the assertion.",
  source: "docs/protocol.md#identity-assertion",
};

/** An assertion whose signature has been verified, with what the rules compare it to. */
export interface AssertionFacts {
  readonly client: Client;
  readonly params: JwtBearerGrant;
  readonly assertion: IdentityAssertion;
  /** Of the records of the client's audience. */
  readonly terms: readonly ResourceTerms[];
  readonly issuer: string;
  /** ID_JAG_MAX_ASSERTION_LIFETIME in seconds: an assertion that lives longer would outlive the record of its use. */
  readonly maxLifetime: number;
  /** Seconds since the epoch. */
  readonly now: number;
  /** The key that the request proved. */
  readonly confirmation?: Confirmation | undefined;
}

const VALID_HERE_AND_NOW: Rule<AssertionFacts, { readonly iat: number; readonly exp: number }> = {
  name: "assertion_for_us_and_now",
  demand: "aud is this issuer alone; the assertion is valid now, and lives no longer than ID_JAG_MAX_ASSERTION_LIFETIME.",
  source: "ID-JAG §4.4",
  check({ assertion: { claims }, issuer, maxLifetime, now }) {
    const { aud, exp, iat, nbf } = claims;
    if (soleAudience(aud) !== issuer) refuse("assertion_for_another_audience");
    if (!isTime(exp)) return refuse("assertion_without_expiry");
    if (exp <= now) refuse("assertion_expired");
    if (!isTime(iat)) return refuse("assertion_without_issue_time");
    if (!hasCome(iat, now + SKEW) || !hasCome(nbf, now + SKEW)) refuse("assertion_not_yet_valid");
    if (exp - iat > maxLifetime) refuse("assertion_lives_too_long");
    return { iat, exp };
  },
};

const SUBJECT: Rule<AssertionFacts, { readonly subject: string; readonly jti: string }> = {
  name: "assertion_subject",
  demand: "The assertion has a subject, a jti, and this client as client_id.",
  source: "ID-JAG §4.4",
  check({ assertion: { claims }, client }) {
    const { sub, jti, client_id } = claims;
    if (!isText(sub) || sub.length > MAX_IDENTIFIER || /\p{Cc}/u.test(sub) || !sub.isWellFormed())
      return refuse("assertion_without_subject");
    if (!isText(jti)) return refuse("assertion_without_id");
    if (client_id !== client.clientId) refuse("assertion_for_another_client");
    return { subject: sub, jti };
  },
};

/** Whether `cnf` names the proven key and nothing else (RFC 7800 §3.1). */
const isProvenKey = (cnf: unknown, confirmation: Confirmation | undefined): boolean =>
  typeof cnf === "object" && cnf !== null && "jkt" in cnf && Object.keys(cnf).length === 1 && cnf.jkt === confirmation?.jkt;

/** Unknown claims are ignored, except those that would restrict the token. */
const UNDERSTOOD: Rule<AssertionFacts> = {
  name: "assertion_understood",
  demand:
    "Neither the assertion nor the request has authorization_details, and cnf of the assertion, if present, is the key that the request proves.",
  source: "docs/protocol.md#identity-assertion",
  check({ assertion: { claims }, params, confirmation }) {
    if (params.authorizationDetailsPresent || claims.authorization_details !== undefined) refuse("authorization_details_unsupported");
    if (claims.cnf !== undefined && !isProvenKey(claims.cnf, confirmation))
      refuse(confirmation === undefined ? "confirmation_unsupported" : "confirmation_not_proven");
  },
};

function actorFrom(value: unknown, left: number): Actor {
  if (left === 0) return refuse("too_many_actors");
  if (typeof value !== "object" || value === null || !("sub" in value) || !isText(value.sub)) return refuse("actor_malformed");
  const { sub } = value;
  return "act" in value && value.act !== undefined ? { sub, act: actorFrom(value.act, left - 1) } : { sub };
}

/** Only `sub` of each asserted actor goes into the token. */
const CHAIN_LENGTH: Rule<AssertionFacts, Actor | undefined> = {
  name: "chain_length",
  demand: "act, if present, is well-formed and names at most four actors.",
  source: "docs/protocol.md#limits",
  check: ({ assertion: { claims } }) => (claims.act === undefined ? undefined : actorFrom(claims.act, MAX_ACTORS)),
};

const RESOURCE: Rule<AssertionFacts, readonly string[]> = {
  name: "resource",
  demand: "The assertion names resources, all within the client's audience; the request's resource lies within them, and none is disabled.",
  source: "docs/protocol.md#identity-assertion",
  check({ assertion: { claims }, params, client, terms }) {
    const asserted: readonly unknown[] = Array.isArray(claims.resource) ? claims.resource : [claims.resource];
    if (asserted.length === 0 || !asserted.every(isText)) return refuse("assertion_without_resource");
    if (!asserted.every((resource) => boundForm(resource, audienceOf(client)) !== undefined)) refuse("resource_not_of_client");
    const requested = params.resource.map((resource) => boundForm(resource, asserted) ?? refuse("resource_outside_assertion"));
    const audience = [...new Set(requested.length === 0 ? asserted : requested)];
    return disabledAmong(audience, terms).length > 0 ? refuse("resource_disabled") : audience;
  },
};

const SCOPE: Rule<AssertionFacts & { readonly audience: readonly string[] }, readonly string[]> = {
  name: "scope",
  demand:
    "The request's scope lies within the assertion's, and the client may have at least one scope of it at the resources without a step-up.",
  source: "ID-JAG §4.4, docs/protocol.md#resource-records, docs/protocol.md#step-up",
  check({ assertion: { claims }, params, client, audience, terms }) {
    const asserted = typeof claims.scope === "string" ? parseScope(claims.scope) : [];
    const requested = parseScope(params.scope);
    if (!requested.every((name) => asserted.includes(name))) refuse("scope_wider_than_assertion");
    const named = terms.filter(({ resource }) => boundForm(resource, audience) !== undefined);
    // An assertion shows no sign-in at this server, so it fulfils no demand of one.
    const allowed = allowedAt(client, { resources: audience, terms }).filter((name) => demandOf([name], named) === undefined);
    const scopes = (requested.length === 0 ? asserted : requested).filter((name) => allowed.includes(name));
    return scopes.length === 0 ? refuse("no_scope_left") : scopes;
  },
};

export const ASSERTION_RULES: readonly RuleHead[] = [VALID_HERE_AND_NOW, SUBJECT, UNDERSTOOD, CHAIN_LENGTH, RESOURCE, SCOPE];

/** What the store checks while it accepts an assertion. @see IdentityAssertions */
export const USER_ENABLED: Rule<{ readonly enabled: boolean }> = {
  name: "user_enabled",
  demand: "The user whom the assertion names is enabled, if they have an account here.",
  source: "docs/protocol.md#accounts",
  check: ({ enabled }) => enabled || refuse("user_disabled"),
};
export const NOT_PAUSED: Rule<{ readonly agentPaused: boolean }> = {
  ...AGENT_NOT_PAUSED,
  check: ({ agentPaused }) => !agentPaused || refuse("agent_paused"),
};
export const ASSERTION_UNUSED: Rule<{ readonly used: boolean }> = {
  name: "assertion_unused",
  demand: "The assertion (jti) has not been used before.",
  source: "docs/protocol.md#identity-assertion",
  check: ({ used }) => !used || refuse("assertion_replayed"),
};

/**
 * Decides what an assertion with a verified signature entitles its client to. Pure.
 * @throws {Refusal} invalid_grant, invalid_scope for a malformed scope
 * @see ID-JAG §4.4, docs/protocol.md#identity-assertion
 */
export function decideIdentityAssertion(facts: AssertionFacts, trace = ENFORCED) {
  const { assertion, now } = facts;
  const { auth_time, email, email_verified } = assertion.claims;
  const { iat, exp } = trace.check(VALID_HERE_AND_NOW, facts);
  const { subject, jti } = trace.check(SUBJECT, facts);
  trace.check(UNDERSTOOD, facts);
  const act = trace.check(CHAIN_LENGTH, facts);
  const audience = trace.check(RESOURCE, facts);
  return {
    subject,
    jti,
    remember: exp + SKEW - now,
    act,
    audience,
    scopes: trace.check(SCOPE, { ...facts, audience }),
    authTime: Math.floor(isTime(auth_time) && auth_time >= 0 && auth_time <= now ? auth_time : Math.min(iat, now)),
    verifiedEmail: typeof email === "string" && email_verified === true ? email : undefined,
  };
}
