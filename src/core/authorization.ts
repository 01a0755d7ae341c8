import { createHmac } from "node:crypto";
import { type NamedTarget, namedTargets } from "../clients/agents.ts";
import { type Client, isOpenlyRegistered } from "../clients/client.ts";
import { documentHost } from "../clients/document-url.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { AuthorizationRequest, IssueCodeRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { printScope } from "../protocol/scope.ts";
import { hashSecret, newSecret } from "../secret.ts";
import { answerableClient, type ValidRequest, validateRequest } from "./authorization-request.ts";
import { consentCovers, consentFingerprint, mayHaveCodeAtOnce, missingConsent, mustAlwaysAsk } from "./policy/consent.ts";
import { droppedScopes, SCOPE_ALLOWED } from "./policy/scope.ts";
import type { Core } from "./ports.ts";

export const clientView = (client: Client) => ({
  clientId: client.clientId,
  name: client.name,
  openRegistration: isOpenlyRegistered(client),
  ...(client.origin === "metadata_document" && { verifiedHost: documentHost(client.clientId) }),
  ...(client.environment !== null && { environment: client.environment }),
});

const resourceClient = ({ clientId, name, isAgent }: NamedTarget) => ({ clientId, name, agent: isAgent });

/** How long a client can use what it is granted. Pure. @returns seconds */
export const accessLifetimes = (client: Client, { accessToken, refreshToken, refreshFamilyMax }: Core["lifetimes"]) => ({
  accessToken,
  ...(client.grantTypes.includes("refresh_token") && { refreshToken, refreshFamilyMax }),
});

/** The session in which a person asks, for a code that may be issued at once. */
export interface AskedIn {
  readonly userId: string;
  readonly sessionId: string;
  /** Seconds since the epoch of the real authentication. */
  readonly authTime: number;
  readonly requestId: string;
  /** A secret that stands for one decision of the user: it has one code, however often it is asked for. */
  readonly decision?: string | undefined;
}

/** Without the decision's secret nobody can compute the code, and with it everybody computes the same. */
const codeOf = (decision: string): string => createHmac("sha256", decision).update("authorization code").digest("base64url");

/** What the front is told of a request: a code if it can have one at once, else what it would grant and what is left to ask. */
async function answerTo(
  request: AuthorizationRequest,
  good: ValidRequest,
  userId: string | undefined,
  askedIn: AskedIn | undefined,
  core: Core,
) {
  if (askedIn !== undefined && mayHaveCodeAtOnce(good, askedIn.userId)) {
    const code = await storeCode(request, good, askedIn, core);
    if (code !== undefined) return { case: "code" as const, value: code };
  }
  const { client, scopes, resources } = good;
  const consent = userId === undefined ? undefined : await core.consents.of(userId, client.clientId, consentFingerprint(client));
  const missing = missingConsent(scopes, resources, consent);
  const authorization = {
    client: clientView(client),
    scopes: [...scopes],
    resources: [...resources],
    consentRequired: mustAlwaysAsk(client) || good.prompt.includes("consent") || !consentCovers(scopes, resources, consent),
    newScopes: [...missing.scopes],
    newResources: [...missing.resources],
    prompt: [...good.prompt],
    ...(good.maxAge !== undefined && { maxAge: good.maxAge }),
    ...(request.loginHint !== undefined && { loginHint: request.loginHint }),
    ...(good.hintedSub !== undefined && { hintedSub: good.hintedSub }),
    lifetimes: accessLifetimes(client, core.lifetimes),
    resourceClients: [...(await namedTargets(core.clients)(resources)).values()].map(resourceClient),
  };
  return { case: "authorization" as const, value: authorization };
}

/** Where a request came from, and the id of its answer. */
export interface RequestOrigin {
  readonly address: string;
  readonly requestId: string;
}

/** What a client is not given although it asked is never left out in silence: it looks like a fault of the client's otherwise. */
function logDropped({ scope }: AuthorizationRequest, client: Client, requestId: string, { log }: Core): void {
  const dropped = droppedScopes(scope, client);
  if (dropped.length === 0) return;
  log.info("scope_dropped", { clientId: client.clientId, scope: printScope(dropped), rule: SCOPE_ALLOWED.name, requestId });
}

/**
 * Judges a request for the front. What is wrong with it once client and redirect URI are good is told, not thrown.
 * @param askedIn undefined when no code is to be issued yet
 * @throws {Refusal} as answerableClient, and temporarily_unavailable
 */
export async function validateAuthorization(
  request: AuthorizationRequest,
  userId: string | undefined,
  askedIn: AskedIn | undefined,
  { address, requestId }: RequestOrigin,
  core: Core,
) {
  const client = await answerableClient(request, address, core);
  try {
    const good = await validateRequest(request, client, core);
    logDropped(request, client, requestId, core);
    return { outcome: await answerTo(request, good, userId, askedIn, core) };
  } catch (error) {
    if (!isRefusal(error) || error.code === "temporarily_unavailable") throw error;
    if (error.code === "invalid_scope") logDropped(request, client, requestId, core);
    return { outcome: { case: "error" as const, value: { error: error.code, errorDescription: error.detail.description ?? "" } } };
  }
}

/** Stores a code. @returns undefined when session, user, client or consent did not hold at the moment of writing */
async function storeCode(
  request: AuthorizationRequest,
  good: ValidRequest,
  { userId, sessionId, authTime, requestId, decision }: AskedIn,
  core: Core,
) {
  const { client, scopes, resources } = good;
  const code = decision ? codeOf(decision) : newSecret(core.randomBytes);
  const mark = consentFingerprint(client);
  const binding = {
    clientId: client.clientId,
    redirectUri: request.redirectUri,
    codeChallenge: good.codeChallenge,
    scopes,
    resources,
    nonce: request.nonce ?? null,
    userId,
    sessionId,
    authTime,
    ...(mark !== undefined && { documentClient: client, clientFingerprint: mark }),
  };
  const issued = await core.codes.issue(hashSecret(code), binding, core.lifetimes.authorizationCode, {
    event: "code.issued",
    outcome: "success",
    actor: { type: "user", id: userId },
    userId,
    clientId: client.clientId,
    scope: printScope(scopes),
    resources,
    requestId,
  });
  return issued ? code : undefined;
}

/**
 * Issues a code for a request that is good and consented to. Everything is judged anew: the front is trusted to relay, not to decide.
 * @throws {Refusal} as the request deserves; access_denied when session, user, client or consent did not hold at the moment of writing
 * @see OAuth 2.1 §4.1.2
 */
export async function issueCode({ request, address, ...askedIn }: IssueCodeRequest, core: Core): Promise<string> {
  if (request === undefined) throw new Refusal("invalid_request", "request_missing");
  const client = await answerableClient(request, address, core);
  const code = await storeCode(request, await validateRequest(request, client, core), askedIn, core);
  if (code === undefined) throw new Refusal("access_denied", "consent_or_session_not_live");
  return code;
}
