import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AuditEntry, AuditEvent } from "../../audit.ts";
import { audienceOf, type Client } from "../../clients/client.ts";
import { type Refusal, refusing } from "../../errors.ts";
import type { TokenRequest, TokenResponseSchema, WouldBeGrantedSchema } from "../../gen/countersign/token/v1/token_pb.ts";
import { isAbsoluteUri } from "../../protocol/access.ts";
import { assertGrantComplete, GRANTS, type GrantCase } from "../../protocol/grants.ts";
import { lifetimeAt, type ResourceTerms } from "../../resources/resource.ts";
import { because, type Rule, type RuleHead, type RuleTrace } from "../policy/rule.ts";
import type { Core, FamilyState } from "../ports.ts";
import { signHybridJwt, signJwt } from "../signing/jws.ts";
import type { CodeState, Confirmation, DeviceState, NewGrant, Subject } from "../stored-grants.ts";
import { type AccessTokenContents, accessTokenClaims, tokenTypeOf } from "../tokens/access-token.ts";
import type { KnownWorkload } from "../workload/authentication.ts";
import type { WorkloadName, WorkloadUse } from "../workload/rules.ts";

/** The records that are being read for the code or the refresh token that a token request presents. */
export interface Prefetched {
  /** Of an authorization code, and of the device code of an approved request. */
  readonly code?: Promise<CodeState | undefined> | undefined;
  readonly device?: Promise<DeviceState | undefined> | undefined;
  readonly family?: Promise<FamilyState | undefined> | undefined;
}

/** What the rules found for the audit record of a refusal before they refused. */
export type RefusalDetails = { -readonly [Member in "userId" | "grantId" | "jti" | "actChain"]?: AuditEntry[Member] };

/** `proof` is set where the token is the grant, which is used up with it. */
export interface RequestWorkload {
  readonly name: WorkloadName;
  readonly proof?: { readonly known: KnownWorkload; readonly use: WorkloadUse | undefined };
}

/** A token request whose client has authenticated. */
export interface GrantRequest<Case extends GrantCase = GrantCase> {
  readonly client: Client;
  readonly grant: Extract<TokenRequest["grant"], { readonly case: Case }>;
  readonly requestId: string;
  readonly prefetched: Prefetched;
  readonly workload?: RequestWorkload;
  /** The key whose possession the request proved. */
  readonly confirmation?: Confirmation;
  /** Filled in while the rules run. */
  readonly refusalDetails: RefusalDetails;
}

/** Which refusals of a grant leave an audit record. Those of confidential clients always do. */
export interface RefusalAudit {
  readonly event: AuditEvent;
  /** Also those of public clients, which then count as failed authentication: anyone can send requests in their name. */
  readonly publicClients: boolean;
  /** Also those of clients that failed to authenticate. */
  readonly unauthenticated: boolean;
}

export type TokenAnswer = MessageInitShape<typeof TokenResponseSchema>;
export type WouldBeGranted = MessageInitShape<typeof WouldBeGrantedSchema>;

/** A grant: its rules in the order of evaluation, and its handlers. */
export interface Grant<Case extends GrantCase> {
  readonly rules: readonly RuleHead[];
  /** Default: of confidential clients alone. */
  readonly refusalAudit?: RefusalAudit;
  /** Evaluates the rules and issues tokens. @throws {Refusal} of the first rule that does not hold */
  issue(request: GrantRequest<Case>, core: Core): Promise<TokenAnswer>;
  /** Evaluates the same rules and writes nothing. @throws {Refusal} as `issue` */
  preview(request: GrantRequest<Case>, core: Core, trace: RuleTrace): Promise<WouldBeGranted>;
}

export const GRANT_HELD: Rule<{ readonly client: Client; readonly grant: { readonly case: GrantCase } }> = {
  name: "grant_held",
  demand: "The client is registered for the grant.",
  source: "RFC 6749 §5.2",
  check: ({ client, grant }) =>
    client.grantTypes.includes(GRANTS[grant.case].grantType) ||
    refusing("unauthorized_client")("grant_not_held", "The client is not registered for this grant: use one of its grant types."),
};

export const PARAMETERS_PRESENT: Rule<{ readonly grant: TokenRequest["grant"] }> = {
  name: "parameters_present",
  demand: "No required parameter of the grant is missing.",
  source: "RFC 6749 §5.2",
  check: assertGrantComplete,
};

/** The user of a code, or of the family of a refresh token. */
export const USER_ENABLED: Rule<{ readonly subject: Pick<Subject, "enabled"> }> = {
  name: "user_enabled",
  demand: "The user is enabled.",
  source: "docs/protocol.md#accounts",
  check: ({ subject }) => subject.enabled || refusing("invalid_grant")("user_disabled"),
};

/** Neither of an agent that holds a user's grant itself, nor of one that exchanges. */
export const AGENT_NOT_PAUSED: Rule<{ readonly agentPaused: boolean }> = {
  name: "agent_not_paused",
  demand: "Neither an operator nor the user has paused the agent.",
  source: "docs/protocol.md#delegations",
  check: ({ agentPaused }) => !agentPaused || refusing("unauthorized_client")("agent_paused"),
};

export const GRANT_RULES: readonly Rule<Pick<GrantRequest, "client" | "grant">>[] = [GRANT_HELD, PARAMETERS_PRESENT];

export async function termsOfAudience(client: Client, { resources }: Pick<Core, "resources">): Promise<readonly ResourceTerms[]> {
  const uris = audienceOf(client).filter(isAbsoluteUri);
  return uris.length === 0 ? [] : resources.of(client.realmId, uris);
}

export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";

/** An access token with the lifetime that server and resources give it, as `explain` shows it. */
export const previewOf = (
  scopes: readonly string[],
  audience: readonly string[],
  core: Core,
  terms: readonly ResourceTerms[] = [],
): WouldBeGranted => ({
  scope: scopes.join(" "),
  aud: [...audience],
  expiresIn: lifetimeAt(core.lifetimes.accessToken, audience, terms),
  issuedTokenType: ACCESS_TOKEN_TYPE,
});

/** `lifetime` and `now` are set where they depend on something else than server and resources. */
type AccessTokenRequest = Omit<AccessTokenContents, "issuer" | "clientId" | "now" | "lifetime"> &
  Partial<Pick<AccessTokenContents, "now" | "lifetime">> & { readonly client: Client; readonly terms?: readonly ResourceTerms[] };

/**
 * Issues an access token: the members that every token answer has, and in self-contained delivery (PQC_TOKEN_DELIVERY) the second signature.
 * @see docs/protocol.md#token-response, docs/protocol.md#hybrid-signing
 */
export async function accessTokenAnswer(token: AccessTokenRequest, core: Core) {
  const { accessToken: key, hybrid } = core.keys.signing();
  const { client, scopes, audience, cnf, terms = [], now = core.clock() } = token;
  const lifetime = token.lifetime ?? lifetimeAt(core.lifetimes.accessToken, audience, terms);
  const claims = accessTokenClaims({ ...token, issuer: core.issuer, clientId: client.clientId, now, lifetime });
  const answer = { tokenType: tokenTypeOf(cnf), expiresIn: lifetime, scope: scopes.join(" ") };
  if (hybrid === undefined) return { ...answer, accessToken: await signJwt(claims, "at+jwt", key) };
  const { token: accessToken, detached } = await signHybridJwt(claims, "at+jwt", key, hybrid);
  const { alg } = hybrid.jwk;
  // Stored before the token is issued, because its holder may request the signature at once.
  await core.detachedSignatures.keep(claims.jti, { alg, signature: detached }, claims.exp);
  if (!core.selfContained) return { ...answer, accessToken };
  return { ...answer, accessToken, pqcSignature: Buffer.from(detached).toString("base64url"), pqcAlg: alg };
}

/** The record of what a client was given, by itself or by its user. */
export const issueRecord = <By extends "user" | "client">(
  by: By,
  {
    scopes,
    audience,
    ...about
  }: Omit<AuditEntry, "event" | "outcome" | "actor" | "scope" | "resources"> &
    Pick<NewGrant, "scopes" | "audience"> &
    Readonly<Record<`${By}Id`, string>>,
  event: AuditEvent = "token.issued",
): AuditEntry => {
  const ids: Readonly<Record<`${By}Id`, string>> = about;
  const actor = { type: by, id: ids[`${by}Id`] };
  return { event, outcome: "success", actor, ...about, scope: scopes.join(" "), resources: audience };
};

/** The record of a refused request of a client. */
export const refusalRecord = (
  event: AuditEvent,
  refusal: Refusal,
  about: Omit<AuditEntry, "event" | "outcome" | "actor"> & { readonly clientId: string },
): AuditEntry => ({ event, outcome: "failure", ...because(refusal), actor: { type: "client", id: about.clientId }, ...about });
