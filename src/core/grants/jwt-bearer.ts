import type { AuditEntry } from "../../audit.ts";
import { type Client, isConfidential, JWT_BEARER } from "../../clients/client.ts";
import { isRefusal, Refusal } from "../../errors.ts";
import type { JwtBearerGrant } from "../../gen/countersign/token/v1/token_pb.ts";
import { newId } from "../../identifier.ts";
import { printScope } from "../../protocol/scope.ts";
import { assertGrantComplete } from "../../protocol/token-request.ts";
import type { AssertedIdentity, IdentityAssertionPorts } from "../asserted-identity.ts";
import type { Core } from "../core.ts";
import { assertSignedByIssuer, type IdentityAssertion, readIdentityAssertion } from "../identity-assertion.ts";
import { actorsOf } from "../policy/delegation.ts";
import { assertMayUseGrant } from "../policy/grant-type.ts";
import {
  assertedActors,
  assertedResources,
  assertedScopes,
  assertedSubject,
  assertForUsAndNow,
  assertNothingUnheeded,
  SKEW,
} from "../policy/identity-assertion.ts";
import type { NewGrant } from "../ports.ts";
import { newJti } from "../tokens/access-token.ts";
import { accessTokenAnswer } from "./token-answer.ts";

/**
 * What an assertion entitles the client to that presents it. Pure; the signature has been checked.
 * @param now seconds since the epoch
 * @throws {Refusal} invalid_grant, invalid_scope for a malformed scope
 * @see ID-JAG §4.4, specification §4.7
 */
export function decideIdentityAssertion(
  assertion: IdentityAssertion,
  client: Client,
  grant: JwtBearerGrant,
  { issuer, maxLifetime, now }: { readonly issuer: string; readonly maxLifetime: number; readonly now: number },
) {
  const { iat, exp } = assertForUsAndNow(assertion, issuer, maxLifetime, now);
  const { subject, jti } = assertedSubject(assertion, client);
  assertNothingUnheeded(assertion);
  const { auth_time, email, email_verified } = assertion.claims;
  return {
    subject,
    jti,
    remember: exp + SKEW - now,
    act: assertedActors(assertion),
    audience: assertedResources(assertion, grant.resource, client),
    scopes: assertedScopes(assertion, grant.scope, client),
    authTime:
      Number.isSafeInteger(auth_time) && Number(auth_time) >= 0 && Number(auth_time) <= now ? Number(auth_time) : Math.min(iat, now),
    verifiedEmail: typeof email === "string" && email_verified === true ? email : undefined,
  };
}

/**
 * A client brings an identity assertion of an issuer that the operator trusts. Every refusal is recorded with its reason; about the
 * assertion itself the outside is told `invalid_grant` and nothing else.
 * @see RFC 7523 §2.1, ID-JAG §4.4, specification §4.7 and §2.12
 */
export async function jwtBearerGrant(grant: JwtBearerGrant, client: Client, requestId: string, core: Core) {
  const { identityAssertions: ports } = core;
  if (ports === undefined) throw new Refusal("unsupported_grant_type", "grant_not_served");
  const seen: { assertion?: IdentityAssertion } = {};
  try {
    if (!isConfidential(client)) throw new Refusal("invalid_client", "public_client");
    assertMayUseGrant(client, JWT_BEARER);
    assertGrantComplete({ case: "jwtBearer", value: grant });
    try {
      const assertion = readIdentityAssertion(grant.assertion, ports.trustedIssuers, core.issuer);
      await assertSignedByIssuer(assertion, ports.keys);
      seen.assertion = assertion;
      return await accept(assertion, grant, client, requestId, ports, core);
    } catch (error) {
      throw isRefusal(error) && error.code !== "temporarily_unavailable"
        ? new Refusal("invalid_grant", error.reason, { cause: error })
        : error;
    }
  } catch (error) {
    if (isRefusal(error) && error.code !== "temporarily_unavailable")
      await core.audit.record(refusalRecord(error, client, seen.assertion, requestId));
    throw error;
  }
}

async function accept(
  assertion: IdentityAssertion,
  grant: JwtBearerGrant,
  client: Client,
  requestId: string,
  { maxLifetime, assertions }: IdentityAssertionPorts,
  core: Core,
) {
  const decision = decideIdentityAssertion(assertion, client, grant, { issuer: core.issuer, maxLifetime, now: core.clock() });
  const { scopes, audience, act } = decision;
  const opened: Omit<NewGrant, "userId"> = {
    id: newId(core.clock, core.randomBytes),
    clientId: client.clientId,
    scopes,
    audience,
    authTime: decision.authTime,
  };
  const jti = newJti(core.randomBytes, opened.id);
  const identity: AssertedIdentity = {
    issuer: assertion.issuer,
    subject: decision.subject,
    verifiedEmail: decision.verifiedEmail,
    realmId: client.realmId,
    newUserId: newId(core.clock, core.randomBytes),
    jti: decision.jti,
    remember: decision.remember,
  };
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
const refusalRecord = ({ reason }: Refusal, client: Client, assertion: IdentityAssertion | undefined, requestId: string): AuditEntry => ({
  event: "identity_assertion.refused",
  outcome: "failure",
  reason,
  actor: { type: "client", id: client.clientId },
  clientId: client.clientId,
  grantType: JWT_BEARER,
  ...(typeof assertion?.claims.jti === "string" && { jti: assertion.claims.jti.slice(0, 255) }),
  requestId,
});
