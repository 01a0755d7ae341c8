import type { AuditEntry } from "../../../audit.ts";
import type { Client } from "../../../clients/client.ts";
import { isRefusal, Refusal } from "../../../errors.ts";
import type { TokenExchangeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { newId } from "../../../identifier.ts";
import { TOKEN_EXCHANGE } from "../../../protocol/grants.ts";
import { MAX_RESOURCES } from "../../../protocol/resource.ts";
import { printScope } from "../../../protocol/scope.ts";
import { CLIENT_RULES } from "../../client-authentication.ts";
import type { Core } from "../../core.ts";
import type { NewDelegation } from "../../delegations.ts";
import { actorsOf } from "../../policy/delegation.ts";
import { tokenLifetime } from "../../policy/lifetime.ts";
import { boundForm, possibleClients } from "../../policy/resource.ts";
import { assertRules } from "../../policy/rule.ts";
import { because } from "../../refusal-audit.ts";
import { signJwt } from "../../signing/jws.ts";
import {
  type AccessTokenClaims,
  ancestors,
  asAccessToken,
  audienceList,
  delegationJti,
  newJti,
  tokenReference,
} from "../../tokens/access-token.ts";
import { ASSERTION_LIFETIME, identityAssertionClaims } from "../../tokens/identity-assertion.ts";
import type { Subject } from "../../user-grant.ts";
import { accessTokenAnswer } from "../token-answer.ts";
import { ACCESS_TOKEN_TYPE, ID_JAG_TYPE, REQUEST_RULES } from "./request-rules.ts";
import { decideExchange, type Exchange } from "./rules.ts";
import { type ExchangeFacts, type PresentedToken, SUBJECT_LIVES } from "./token-rules.ts";

/**
 * An agent exchanges a person's token for a narrower one that says for whom it acts, or for an identity assertion. Every outcome leaves a
 * record: of what is granted in the statement that stores it, of what is refused before the refusal leaves.
 * @see RFC 8693, specification §4.7 and §2.12
 */
export async function tokenExchangeGrant(grant: TokenExchangeGrant, client: Client, requestId: string, core: Core) {
  const known: { subject?: PresentedToken | undefined } = {};
  try {
    assertRules(REQUEST_RULES, { client, grant });
    const facts = await exchangeFacts(grant, client, core);
    known.subject = facts.subject;
    const answer = await carryOut(decideExchange(facts), facts, requestId, core);
    if (answer !== undefined) return answer;
    const again = await refreshedFacts(grant, client, core);
    known.subject = again.subject;
    throw overtaken(again);
  } catch (error) {
    if (isRefusal(error) && error.code !== "temporarily_unavailable")
      await core.audit.record(refusalRecord(error, client, known.subject, requestId));
    throw error;
  }
}

/** Everything that the rules look at. The reads go out together. */
export async function exchangeFacts(grant: TokenExchangeGrant, client: Client, core: Core): Promise<ExchangeFacts> {
  const claims = claimsOf(grant.subjectToken, core);
  const targets = [...new Set([...grant.resource, ...grant.audience])].slice(0, MAX_RESOURCES);
  const [subject, actor, clients] = await Promise.all([
    claims && presented(claims, core, client.clientId),
    grant.actorToken === undefined ? undefined : presentedActor(grant.actorToken, core),
    clientsAmong([...targets, ...(claims ? audienceList(claims) : [])], client, core),
  ]);
  return { client, grant, subject, actor, clients, issuer: core.issuer };
}

function claimsOf(token: string, core: Core): AccessTokenClaims | undefined {
  const verified = core.issuedTokens.verify(token, "at+jwt");
  return verified && asAccessToken(verified);
}

/** @param agent who asks to act with it, for a subject token */
async function presented(claims: AccessTokenClaims, core: Core, agent?: string): Promise<PresentedToken> {
  return { claims, state: await core.tokens.of({ ...tokenReference(claims), ...(agent !== undefined && { agent }) }) };
}

async function presentedActor(token: string, core: Core): Promise<PresentedToken | undefined> {
  const claims = claimsOf(token, core);
  return claims && presented(claims, core);
}

/** Whether each client that is named is enabled. Who asks is not looked up again, and where only web URIs are named nothing is. */
async function clientsAmong(values: readonly string[], asking: Client, core: Core): Promise<ReadonlyMap<string, boolean>> {
  const others = possibleClients([...new Set(values)]).filter((clientId) => clientId !== asking.clientId);
  const found = await Promise.all(others.map((clientId) => core.clients.byClientId(clientId)));
  return new Map([asking, ...found].flatMap((client) => (client === undefined ? [] : [[client.clientId, client.enabled] as const])));
}

/** @throws {Refusal} invalid_client for an agent that has been disabled, or is gone, since it authenticated */
async function refreshedFacts(grant: TokenExchangeGrant, { clientId }: Client, core: Core): Promise<ExchangeFacts> {
  const client = await core.clients.byClientId(clientId);
  if (!client?.enabled) throw new Refusal("invalid_client", "client_disabled", { rule: CLIENT_RULES.enabled.name });
  return exchangeFacts(grant, client, core);
}

/** Why an exchange was not stored that its facts allowed: what they have become names the rule, unless that is over again already. */
function overtaken(facts: ExchangeFacts): Refusal {
  decideExchange(facts);
  return new Refusal("invalid_request", "subject_token_ended", { rule: SUBJECT_LIVES.name });
}

/** @returns undefined when the exchange was not stored, for something that it stands on has ended since it was read */
async function carryOut(exchange: Exchange, facts: ExchangeFacts, requestId: string, core: Core) {
  const { kind, subject, root, scopes, audience, act } = exchange;
  const { client } = facts;
  // The subject token's end is counted by the database's clock, and so is that of what comes of it.
  const { now } = subject.state;
  const id = newId(core.clock, core.randomBytes);
  const configured = kind === "id_jag" ? ASSERTION_LIFETIME : core.lifetimes.accessToken;
  const lifetime = tokenLifetime(configured, subject.claims.exp, now);
  const delegation: NewDelegation = {
    id,
    kind,
    jti: kind === "id_jag" ? newJti(core.randomBytes) : delegationJti(id),
    parent: tokenReference(subject.claims),
    grantId: root.grantId,
    userId: subject.claims.sub,
    actor: client.clientId,
    scopes,
    audience,
    expiresAt: now + lifetime,
  };
  const { jti } = delegation;
  // No record, no token: the answer waits for both.
  const [answer, stored] = await Promise.all([
    kind === "id_jag"
      ? assertionAnswer(exchange, facts, { jti, lifetime }, core)
      : accessTokenAnswer(
          { subject: subject.claims.sub, client, scopes, audience, jti, lifetime, now, act, exchangedFrom: ancestors(subject.claims) },
          core,
        ),
    core.delegations.record(delegation, issueRecord(delegation, exchange, requestId)),
  ]);
  return stored ? { ...answer, issuedTokenType: kind === "id_jag" ? ID_JAG_TYPE : ACCESS_TOKEN_TYPE } : undefined;
}

async function assertionAnswer(
  { subject, root, scopes, act }: Exchange,
  { client, grant }: ExchangeFacts,
  { jti, lifetime }: { readonly jti: string; readonly lifetime: number },
  core: Core,
) {
  const asBound = (place: string) => boundForm(place, audienceList(subject.claims)) ?? place;
  const [audience = ""] = grant.audience.map(asBound);
  const claims = identityAssertionClaims({
    issuer: core.issuer,
    // The rules have seen to it that there is one.
    subject: subject.state.subject as Subject,
    audience,
    resources: [...new Set(grant.resource.map(asBound))],
    clientId: client.clientId,
    scopes,
    jti,
    authTime: root.authTime,
    act,
    now: subject.state.now,
    lifetime,
  });
  const accessToken = await signJwt(claims, "oauth-id-jag+jwt", core.keys.signing().accessToken, core.sign);
  return { accessToken, tokenType: "N_A", expiresIn: lifetime, scope: printScope(scopes) };
}

const issueRecord = (delegation: NewDelegation, { act }: Exchange, requestId: string): AuditEntry => ({
  event: delegation.kind === "id_jag" ? "identity_assertion.issued" : "token.issued",
  outcome: "success",
  actor: { type: "client", id: delegation.actor },
  userId: delegation.userId,
  clientId: delegation.actor,
  grantType: TOKEN_EXCHANGE,
  scope: printScope(delegation.scopes),
  resources: delegation.audience,
  jti: delegation.jti,
  grantId: delegation.grantId,
  actChain: actorsOf(act),
  requestId,
});

/** What can be said of an exchange that is refused: the chain is the one that was asked for, the refused agent in front. */
function refusalRecord(refusal: Refusal, client: Client, subject: PresentedToken | undefined, requestId: string): AuditEntry {
  return {
    event: "token.refused",
    outcome: "failure",
    ...because(refusal),
    actor: { type: "client", id: client.clientId },
    ...(subject?.state.subject && { userId: subject.state.subject.userId }),
    ...(subject?.state.root && { grantId: subject.state.root.grantId }),
    ...(subject && { jti: subject.claims.jti }),
    clientId: client.clientId,
    grantType: TOKEN_EXCHANGE,
    actChain: [client.clientId, ...actorsOf(subject?.claims.act)],
    requestId,
  };
}
