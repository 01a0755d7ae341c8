import { MAX_ACTORS } from "../../../clients/agents.ts";
import { audienceOf, type Client } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import { parseScope } from "../../../protocol/scope.ts";
import { boundForm } from "../../policy/resource.ts";
import { allowedScopes } from "../../policy/scope.ts";
import type { ParsedJwt } from "../../signing/jws.ts";
import type { Actor } from "../../tokens/access-token.ts";

/** Seconds by which another issuer's clock may be ahead. */
export const SKEW = 60;
const MAX_IDENTIFIER = 255;

/** All that is refused about an assertion is one code to the outside; the reason is for the trail. */
const refuse = (reason: string): never => {
  throw new Refusal("invalid_grant", reason);
};

const isTime = (value: unknown): value is number => Number.isSafeInteger(value);
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

export interface AssertionTimes {
  readonly iat: number;
  readonly exp: number;
}

/**
 * Whether the assertion is for us and for now. Pure.
 * @param now seconds since the epoch  @param maxLifetime seconds: an assertion that lives longer would outlive the memory of its use
 * @throws {Refusal} invalid_grant
 */
export function assertForUsAndNow({ claims }: ParsedJwt, issuer: string, maxLifetime: number, now: number): AssertionTimes {
  const { aud, exp, iat, nbf } = claims;
  const audience = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
  if (audience !== issuer) refuse("assertion_for_another_audience");
  if (!isTime(exp)) return refuse("assertion_without_expiry");
  if (exp <= now) refuse("assertion_expired");
  if (!isTime(iat)) return refuse("assertion_without_issue_time");
  if (iat > now + SKEW || (nbf !== undefined && !(isTime(nbf) && nbf <= now + SKEW))) refuse("assertion_not_yet_valid");
  if (exp - iat > maxLifetime) refuse("assertion_lives_too_long");
  return { iat, exp };
}

export interface AssertedSubject {
  readonly subject: string;
  readonly jti: string;
}

/**
 * Whom it speaks of, and that it speaks of them to this client. Pure.
 * @throws {Refusal} invalid_grant
 */
export function assertedSubject({ claims }: ParsedJwt, client: Client): AssertedSubject {
  const { sub, jti, client_id } = claims;
  if (!isText(sub) || sub.length > MAX_IDENTIFIER || /\p{Cc}/u.test(sub) || !sub.isWellFormed()) return refuse("assertion_without_subject");
  if (!isText(jti)) return refuse("assertion_without_id");
  if (client_id !== client.clientId) refuse("assertion_for_another_client");
  return { subject: sub, jti };
}

/**
 * What an assertion, or the request that brings it, may ask that we would have to understand, and do not. Whatever else is unknown is let pass.
 * @param detailed whether the request has authorization_details
 * @throws {Refusal} invalid_grant
 * @see specification §4.7; `cnf` demands a proof that is not checked here
 */
export function assertNothingUnheeded({ claims }: ParsedJwt, detailed: boolean): void {
  if (detailed || claims.authorization_details !== undefined) refuse("authorization_details_unsupported");
  if (claims.cnf !== undefined) refuse("confirmation_unsupported");
}

/**
 * Those who act for the person, as the other issuer says; only who they are goes along.
 * @throws {Refusal} invalid_grant for a chain that is malformed or has more than four actors
 */
export function assertedActors({ claims }: ParsedJwt): Actor | undefined {
  return claims.act === undefined ? undefined : actorFrom(claims.act, MAX_ACTORS);
}

function actorFrom(value: unknown, left: number): Actor {
  if (left === 0) return refuse("too_many_actors");
  if (typeof value !== "object" || value === null || !("sub" in value) || !isText(value.sub)) return refuse("actor_malformed");
  const { sub } = value;
  return "act" in value && value.act !== undefined ? { sub, act: actorFrom(value.act, left - 1) } : { sub };
}

/**
 * Where the token may be used: what the assertion names, all of it within what the client stands for; narrowed by the request's own wish.
 * @throws {Refusal} invalid_grant
 */
export function assertedResources({ claims }: ParsedJwt, requested: readonly string[], client: Client): readonly string[] {
  const named: readonly unknown[] = Array.isArray(claims.resource) ? claims.resource : [claims.resource];
  if (named.length === 0 || !named.every(isText)) return refuse("assertion_without_resource");
  if (!named.every((resource) => boundForm(resource, audienceOf(client)) !== undefined)) refuse("resource_not_of_client");
  const wished = requested.map((resource) => boundForm(resource, named) ?? refuse("resource_outside_assertion"));
  return [...new Set(wished.length === 0 ? named : wished)];
}

/**
 * What assertion, client and request have in common. To ask for more than the assertion says is refused, and so is having nothing left.
 * @throws {Refusal} invalid_grant, invalid_scope for characters outside the grammar
 */
export function assertedScopes({ claims }: ParsedJwt, requested: string | undefined, client: Client): readonly string[] {
  const { scope } = claims;
  const asserted = typeof scope === "string" ? parseScope(scope) : [];
  const wished = parseScope(requested);
  if (!wished.every((name) => asserted.includes(name))) refuse("scope_wider_than_assertion");
  const allowed = allowedScopes(client);
  const scopes = (wished.length === 0 ? asserted : wished).filter((name) => allowed.includes(name));
  return scopes.length === 0 ? refuse("no_scope_left") : scopes;
}
