import type { AuditEntry } from "../../../audit.ts";
import type { Client } from "../../../clients/client.ts";
import { isRefusal, Refusal } from "../../../errors.ts";
import type { JwtBearerGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { newId } from "../../../identifier.ts";
import { JWT_BEARER } from "../../../protocol/grants.ts";
import { printScope } from "../../../protocol/scope.ts";
import type { Core } from "../../core.ts";
import { actorsOf } from "../../policy/delegation.ts";
import { assertRules, underRule } from "../../policy/rule.ts";
import { because } from "../../refusal-audit.ts";
import { newJti } from "../../tokens/access-token.ts";
import type { NewGrant } from "../../user-grant.ts";
import { accessTokenAnswer } from "../token-answer.ts";
import { assertSignedByIssuer, type IdentityAssertion, readIdentityAssertion } from "./assertion.ts";
import type { AssertedIdentity, IdentityAssertionPorts } from "./ports.ts";
import {
  type AcceptedAssertion,
  ASSERTION_GRANT_RULES,
  ASSERTION_READ,
  ASSERTION_SIGNED,
  decideIdentityAssertion,
  GRANT_SERVED,
} from "./rules.ts";

/**
 * A client brings an identity assertion of an issuer that the operator trusts. Every refusal is recorded with its reason; about the
 * assertion itself the outside is told `invalid_grant` and nothing else.
 * @see RFC 7523 §2.1, ID-JAG §4.4, specification §4.7 and §2.12
 */
export async function jwtBearerGrant(grant: JwtBearerGrant, client: Client, requestId: string, core: Core) {
  const ports = servedPorts(core);
  const seen: { assertion?: IdentityAssertion } = {};
  try {
    assertRules(ASSERTION_GRANT_RULES, { client, grant });
    try {
      const assertion = await underRule(ASSERTION_READ, readAssertionOf(grant, ports, core));
      await underRule(ASSERTION_SIGNED, assertSignedByIssuer(assertion, ports.keys));
      seen.assertion = assertion;
      return await accept(assertion, grant, client, requestId, ports, core);
    } catch (error) {
      throw isRefusal(error) && error.code !== "temporarily_unavailable" ? withoutDetails(error) : error;
    }
  } catch (error) {
    if (isRefusal(error) && error.code !== "temporarily_unavailable")
      await core.audit.record(refusalRecord(error, client, seen.assertion, requestId));
    throw error;
  }
}

/** @throws {Refusal} unsupported_grant_type while ID_JAG_ENABLED is false */
export function servedPorts({ identityAssertions }: Pick<Core, "identityAssertions">): IdentityAssertionPorts {
  if (identityAssertions === undefined)
    throw new Refusal("unsupported_grant_type", "grant_not_served", {
      description: "This grant is not served here.",
      rule: GRANT_SERVED.name,
    });
  return identityAssertions;
}

export const readAssertionOf = async ({ assertion }: JwtBearerGrant, { trustedIssuers }: IdentityAssertionPorts, { issuer }: Core) =>
  readIdentityAssertion(assertion, trustedIssuers, issuer);

/** What is wrong with an assertion is one code to the outside. */
export const withoutDetails = (refusal: Refusal): Refusal =>
  new Refusal("invalid_grant", refusal.reason, {
    cause: refusal,
    ...(refusal.detail.rule !== undefined && { rule: refusal.detail.rule }),
  });

/** Who the assertion speaks of, as the stores look for them. */
export const identityOf = (
  assertion: IdentityAssertion,
  { subject, verifiedEmail, jti, remember }: AcceptedAssertion,
  client: Client,
  core: Core,
): AssertedIdentity => ({
  issuer: assertion.issuer,
  subject,
  verifiedEmail,
  realmId: client.realmId,
  newUserId: newId(core.clock, core.randomBytes),
  jti,
  remember,
});

async function accept(
  assertion: IdentityAssertion,
  grant: JwtBearerGrant,
  client: Client,
  requestId: string,
  { maxLifetime, assertions }: IdentityAssertionPorts,
  core: Core,
) {
  const decision = decideIdentityAssertion({ assertion, client, grant, issuer: core.issuer, maxLifetime, now: core.clock() });
  const { scopes, audience, act } = decision;
  const opened: Omit<NewGrant, "userId"> = {
    id: newId(core.clock, core.randomBytes),
    clientId: client.clientId,
    scopes,
    audience,
    authTime: decision.authTime,
  };
  const jti = newJti(core.randomBytes, opened.id);
  const identity = identityOf(assertion, decision, client, core);
  const subject = await assertions.accept(identity, opened, {
    event: "token.issued",
    outcome: "success",
    actor: { type: "client", id: client.clientId },
    clientId: client.clientId,
    grantType: JWT_BEARER,
    scope: printScope(scopes),
    resources: audience,
    jti,
    grantId: opened.id,
    ...(act && { actChain: actorsOf(act) }),
    requestId,
  });
  return accessTokenAnswer({ subject, client, scopes, audience, jti, lifetime: core.lifetimes.accessToken, act }, core);
}

/** Of what somebody else wrote only what its issuer signed goes into the trail. */
const refusalRecord = (refusal: Refusal, client: Client, assertion: IdentityAssertion | undefined, requestId: string): AuditEntry => ({
  event: "identity_assertion.refused",
  outcome: "failure",
  ...because(refusal),
  actor: { type: "client", id: client.clientId },
  clientId: client.clientId,
  grantType: JWT_BEARER,
  ...(typeof assertion?.claims.jti === "string" && { jti: assertion.claims.jti.slice(0, 255) }),
  requestId,
});
