import { assertSignedByRemoteKeys } from "../../../clients/published-keys.ts";
import { withoutDescription } from "../../../errors.ts";
import { JWT_BEARER } from "../../../protocol/grants.ts";
import { newId } from "../../../random.ts";
import { ENFORCED, isVerdict, withoutDetails } from "../../policy/rule.ts";
import type { Core } from "../../ports.ts";
import type { AssertedIdentity, IdentityAssertionPorts, NewGrant } from "../../stored-grants.ts";
import { actorsOf, newJti } from "../../tokens/access-token.ts";
import {
  accessTokenAnswer,
  GRANT_HELD,
  type Grant,
  type GrantRequest,
  issueRecord,
  PARAMETERS_PRESENT,
  previewOf,
  termsOfAudience,
} from "../grant.ts";
import {
  ASSERTION_READ,
  ASSERTION_RULES,
  ASSERTION_SIGNED,
  ASSERTION_UNUSED,
  CONFIDENTIAL_CLIENT,
  decideIdentityAssertion,
  GRANT_SERVED,
  type IdentityAssertion,
  NOT_PAUSED,
  readIdentityAssertion,
  USER_ENABLED,
} from "./rules.ts";

type Request = GrantRequest<"jwtBearer">;

/** The client learns one code about an assertion, whatever is wrong with it. */
const asInvalidGrant = withoutDetails("invalid_grant");

const read = async (text: string, { trustedIssuers }: IdentityAssertionPorts, { issuer }: Core): Promise<IdentityAssertion> =>
  readIdentityAssertion(text, trustedIssuers, issuer);

async function decide({ client, grant, refusalDetails, confirmation }: Request, core: Core, outer = ENFORCED) {
  const ports = outer.check(GRANT_SERVED, core.identityAssertions);
  outer.check(CONFIDENTIAL_CLIENT, { client });
  // Without a description, as all refusals of an identity assertion are.
  outer.masked(withoutDescription).check(GRANT_HELD, { client, grant });
  outer.check(PARAMETERS_PRESENT, { grant });
  const trace = outer.masked(asInvalidGrant);
  const params = grant.value;
  const assertion = await trace.settle(ASSERTION_READ, read(params.assertion, ports, core));
  await trace.settle(
    ASSERTION_SIGNED,
    assertSignedByRemoteKeys(assertion, { source: assertion.issuer, keys: ports.keys }, "invalid_grant", "issuer"),
  );
  // Only what the issuer has signed goes into the audit record.
  const { jti } = assertion.claims;
  if (typeof jti === "string") refusalDetails.jti = jti.slice(0, 255);
  const terms = await termsOfAudience(client, core);
  const facts = { client, params, assertion, terms, issuer: core.issuer, maxLifetime: ports.maxLifetime, now: core.clock(), confirmation };
  const accepted = decideIdentityAssertion(facts, trace);
  const identity: AssertedIdentity = {
    issuer: assertion.issuer,
    subject: accepted.subject,
    verifiedEmail: accepted.verifiedEmail,
    realmId: client.realmId,
    newUserId: newId(core.clock, core.randomBytes),
    jti: accepted.jti,
    remember: accepted.remember,
  };
  return { ports, accepted, identity, terms, trace };
}

/**
 * Issues a token for an identity assertion of an issuer that the operator trusts. Every refusal leaves an audit record with its reason.
 * @see RFC 7523 §2.1, ID-JAG §4.4, docs/protocol.md#identity-assertion
 */
export const jwtBearer: Grant<"jwtBearer"> = {
  rules: [
    GRANT_SERVED,
    CONFIDENTIAL_CLIENT,
    GRANT_HELD,
    PARAMETERS_PRESENT,
    ASSERTION_READ,
    ASSERTION_SIGNED,
    ...ASSERTION_RULES,
    USER_ENABLED,
    NOT_PAUSED,
    ASSERTION_UNUSED,
  ],
  refusalAudit: { event: "identity_assertion.refused", publicClients: true, unauthenticated: false },

  async issue(request, core) {
    const { ports, accepted, identity, terms } = await decide(request, core);
    const { client, requestId, confirmation: cnf } = request;
    const { clientId } = client;
    const { scopes, audience, act, authTime } = accepted;
    const opened: Omit<NewGrant, "userId"> = { id: newId(core.clock, core.randomBytes), clientId, scopes, audience, authTime };
    const jti = newJti(core.randomBytes, opened.id);
    const issued = { clientId, grantType: JWT_BEARER, scopes, audience, jti, grantId: opened.id, requestId };
    const audit = issueRecord("client", { ...issued, ...(act && { actChain: actorsOf(act) }) });
    const subject = await ports.assertions.accept(identity, opened, audit).catch((error: unknown) => {
      throw isVerdict(error) ? asInvalidGrant(error) : error;
    });
    return accessTokenAnswer({ subject, client, scopes, audience, jti, terms, act, cnf }, core);
  },

  async preview(request, core, outer) {
    const { ports, accepted, identity, terms, trace } = await decide(request, core, outer);
    const outlook = await ports.assertions.outlook(identity, request.client.clientId);
    trace.check(USER_ENABLED, outlook);
    trace.check(NOT_PAUSED, outlook);
    trace.check(ASSERTION_UNUSED, outlook);
    return { ...previewOf(accepted.scopes, accepted.audience, core, terms), actors: [...actorsOf(accepted.act)] };
  },
};
