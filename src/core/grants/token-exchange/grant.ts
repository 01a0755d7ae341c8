import type { AuditEntry } from "../../../audit.ts";
import type { Client } from "../../../clients/client.ts";
import { clientsAmong } from "../../../clients/find-client.ts";
import { Refusal } from "../../../errors.ts";
import type { TokenExchangeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { isAbsoluteUri, MAX_RESOURCES } from "../../../protocol/access.ts";
import { TOKEN_EXCHANGE } from "../../../protocol/grants.ts";
import { newId } from "../../../random.ts";
import { disabledAmong, lifetimeAt } from "../../../resources/resource.ts";
import { CLIENT_RULES } from "../../client-authentication.ts";
import { boundForm, mayNameClient } from "../../policy/access.ts";
import { ENFORCED } from "../../policy/rule.ts";
import type { Core, NewDelegation } from "../../ports.ts";
import { signJwt } from "../../signing/jws.ts";
import type { Subject } from "../../stored-grants.ts";
import {
  type AccessTokenClaims,
  actorsOf,
  ancestors,
  audienceList,
  delegationJti,
  newJti,
  tokenLifetime,
  tokenReference,
} from "../../tokens/access-token.ts";
import { ASSERTION_LIFETIME, identityAssertionClaims } from "../../tokens/id-token.ts";
import {
  ACCESS_TOKEN_TYPE,
  accessTokenAnswer,
  type Grant,
  type GrantRequest,
  issueRecord,
  previewOf,
  type RefusalDetails,
} from "../grant.ts";
import { ID_JAG_TYPE, REQUEST_RULES } from "./request-rules.ts";
import { decideExchange, type Exchange, type ExchangeFacts, type PresentedToken, SUBJECT_LIVES, TOKEN_RULES } from "./rules.ts";

type Request = GrantRequest<"tokenExchange">;
/** @param agent the client that acts with the token, if it is a subject token */
async function presented(claims: AccessTokenClaims | undefined, core: Core, agent?: string): Promise<PresentedToken | undefined> {
  if (claims === undefined) return undefined;
  return { claims, state: await core.tokens.of({ ...tokenReference(claims), ...(agent !== undefined && { agent }) }) };
}

/** Reads all records that the rules need, in parallel. */
async function exchangeFacts(client: Client, params: TokenExchangeGrant, core: Core): Promise<ExchangeFacts> {
  const claims = core.issuedTokens.accessToken(params.subjectToken);
  const targets = [...new Set([...params.resource, ...params.audience])].slice(0, MAX_RESOURCES);
  const named = [...targets, ...(claims ? audienceList(claims) : [])];
  const resources = named.filter(isAbsoluteUri);
  const others = named.filter((value) => value !== client.clientId && mayNameClient(value));
  const [subject, actor, clients, terms] = await Promise.all([
    presented(claims, core, client.clientId),
    params.actorToken === undefined ? undefined : presented(core.issuedTokens.accessToken(params.actorToken), core),
    clientsAmong(others, core.clients),
    resources.length === 0 ? [] : core.resources.of(client.realmId, resources),
  ]);
  const disabled = disabledAmong(resources, terms).map((resource) => [resource, { enabled: false }] as const);
  const known = new Map<string, Pick<Client, "enabled">>([[client.clientId, client], ...clients, ...disabled]);
  return { client, params, subject, actor, clients: known, terms, issuer: core.issuer };
}

/** Notes the requested chain, the refused agent first, and the subject token for the audit record of a refusal. */
function noteSubject(details: RefusalDetails, { clientId }: Client, subject: PresentedToken | undefined): void {
  details.actChain = [clientId, ...actorsOf(subject?.claims.act)];
  if (subject === undefined) return;
  details.jti = subject.claims.jti;
  if (subject.state.subject) details.userId = subject.state.subject.userId;
  if (subject.state.root) details.grantId = subject.state.root.grantId;
}

type Presented = Omit<Request, "requestId" | "prefetched">;

async function decide({ client, grant, refusalDetails, confirmation }: Presented, core: Core, trace = ENFORCED) {
  noteSubject(refusalDetails, client, undefined);
  for (const rule of REQUEST_RULES) trace.check(rule, { client, grant });
  const facts = await exchangeFacts(client, grant.value, core);
  noteSubject(refusalDetails, client, facts.subject);
  // `explain` cannot make a proof, so that one is assumed.
  const proven = trace === ENFORCED ? confirmation : (confirmation ?? facts.actor?.claims.cnf ?? facts.subject?.claims.cnf);
  return { ...decideExchange({ ...facts, confirmation: proven }, trace), terms: facts.terms };
}

/** After a lost race: evaluates the rules on fresh data to name the one that now fails. */
async function refuseOvertaken({ client, ...request }: Request, core: Core): Promise<never> {
  const current = await core.clients.byClientId(client.clientId);
  if (!current?.enabled) throw new Refusal("invalid_client", "client_disabled", { rule: CLIENT_RULES.enabled.name });
  await decide({ ...request, client: current }, core);
  throw new Refusal("invalid_request", "subject_token_ended", { rule: SUBJECT_LIVES.name });
}

const lifetimeOf = ({ kind, subject, audience, terms }: Exchange & Pick<ExchangeFacts, "terms">, core: Core): number => {
  const configured = kind === "id_jag" ? ASSERTION_LIFETIME : lifetimeAt(core.lifetimes.accessToken, audience, terms);
  return tokenLifetime(configured, subject.claims.exp, subject.state.now);
};

const ISSUED_TYPES = { access_token: ACCESS_TOKEN_TYPE, id_jag: ID_JAG_TYPE } as const;

function newDelegation(exchange: Exchange, { clientId }: Client, lifetime: number, core: Core): NewDelegation {
  const { kind, subject, root, scopes, audience } = exchange;
  const id = newId(core.clock, core.randomBytes);
  return {
    id,
    kind,
    jti: kind === "id_jag" ? newJti(core.randomBytes) : delegationJti(id),
    parent: tokenReference(subject.claims),
    grantId: root.grantId,
    userId: subject.claims.sub,
    actor: clientId,
    scopes,
    audience,
    // Expires by the database's clock, as the subject token does.
    expiresAt: subject.state.now + lifetime,
  };
}

async function assertionAnswer(
  { subject, root, scopes, act }: Exchange,
  { client, grant: { value: params }, confirmation: cnf }: Request,
  { jti, lifetime }: { readonly jti: string; readonly lifetime: number },
  core: Core,
) {
  const asBound = (resource: string) => boundForm(resource, audienceList(subject.claims)) ?? resource;
  // As the agent spells it: the other server compares its issuer character by character.
  const [audience = ""] = params.audience;
  const claims = identityAssertionClaims({
    issuer: core.issuer,
    subject: subject.state.subject as Subject, // the rules have checked that the user exists
    audience,
    resources: [...new Set(params.resource.map(asBound))],
    clientId: client.clientId,
    scopes,
    jti,
    authTime: root.authTime,
    act,
    cnf,
    now: subject.state.now,
    lifetime,
  });
  const accessToken = await signJwt(claims, "oauth-id-jag+jwt", core.keys.signing().accessToken);
  return { accessToken, tokenType: "N_A", expiresIn: lifetime, scope: scopes.join(" ") };
}

function exchangeRecord(delegation: NewDelegation, { act }: Exchange, requestId: string): AuditEntry {
  const { kind, actor: clientId, userId, scopes, audience, jti, grantId } = delegation;
  const issued = { userId, clientId, grantType: TOKEN_EXCHANGE, scopes, audience, jti, grantId, actChain: actorsOf(act), requestId };
  return issueRecord("client", issued, kind === "id_jag" ? "identity_assertion.issued" : "token.issued");
}

/**
 * Exchanges a user's token for a narrower one that names the agent as actor, or for an identity assertion. Every outcome leaves an audit
 * record: an issued token in the statement that stores it, a refusal before it is thrown.
 * @see RFC 8693, docs/protocol.md#token-exchange
 */
export const tokenExchange: Grant<"tokenExchange"> = {
  rules: [...REQUEST_RULES, ...TOKEN_RULES],
  refusalAudit: { event: "token.refused", publicClients: true, unauthenticated: true },

  async issue(request, core) {
    const exchange = await decide(request, core);
    const { client, requestId } = request;
    const { kind, subject, scopes, audience, act } = exchange;
    const lifetime = lifetimeOf(exchange, core);
    // The new token is bound to the key that the agent proved; the agent does not hold the key of the subject token.
    const cnf = request.confirmation;
    const delegation = { ...newDelegation(exchange, client, lifetime, core), ...(cnf && { cnf }) };
    const { jti } = delegation;
    const { claims, state } = subject;
    const token = {
      subject: claims.sub,
      client,
      scopes,
      audience,
      jti,
      lifetime,
      now: state.now,
      act,
      exchangedFrom: ancestors(claims),
      cnf,
      signedIn: { acr: claims.acr, amr: claims.amr, auth_time: claims.auth_time },
    };
    // No record, no token: the answer waits for both.
    const [answer, stored] = await Promise.all([
      kind === "id_jag" ? assertionAnswer(exchange, request, { jti, lifetime }, core) : accessTokenAnswer(token, core),
      core.delegations.record(delegation, exchangeRecord(delegation, exchange, requestId)),
    ]);
    return stored ? { ...answer, issuedTokenType: ISSUED_TYPES[kind] } : refuseOvertaken(request, core);
  },

  async preview(request, core, trace) {
    const exchange = await decide(request, core, trace);
    const { kind, subject, scopes, audience, act } = exchange;
    return {
      ...previewOf(scopes, kind === "id_jag" ? request.grant.value.audience : audience, core),
      sub: subject.claims.sub,
      actors: [...actorsOf(act)],
      expiresIn: lifetimeOf(exchange, core),
      issuedTokenType: ISSUED_TYPES[kind],
    };
  },
};
