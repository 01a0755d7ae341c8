import { createHmac } from "node:crypto";
import { type Client, isOpenlyRegistered, type NamedTarget, namedTargets } from "../clients/client.ts";
import { documentHost } from "../clients/document-url.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { AuthorizationRequest, IssueCodeRequest, ValidateAuthorizationRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { printScope } from "../protocol/access.ts";
import { hashSecret, newSecret } from "../random.ts";
import { answerableClient, requestedTarget, type ValidRequest, validateRequest } from "./authorization-request.ts";
import { droppedScopes, SCOPE_ALLOWED } from "./policy/access.ts";
import { consentCovers, consentFingerprint, mayHaveCodeAtOnce, missingConsent, mustAlwaysAsk } from "./policy/consent.ts";
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
const accessLifetimes = (client: Client, { accessToken, refreshToken, refreshFamilyMax }: Core["lifetimes"]) => ({
  accessToken,
  ...(client.grantTypes.includes("refresh_token") && { refreshToken, refreshFamilyMax }),
});

/** The session of the user, for a code that may be issued at once. `authTime` in seconds since the epoch. */
export type RequestSession = Pick<IssueCodeRequest, "userId" | "sessionId" | "authTime" | "requestId" | "decision">;

/** The one code of a decision, however often it is requested. @param decision a secret that stands for one decision of the user */
const codeOf = (decision: string): string => createHmac("sha256", decision).update("authorization code").digest("base64url");

/** A code if it can be issued at once, else what the request would grant and what the user has to be asked. */
async function answerTo(
  request: AuthorizationRequest,
  valid: ValidRequest,
  userId: string | undefined,
  session: RequestSession | undefined,
  core: Core,
) {
  if (session !== undefined && mayHaveCodeAtOnce(valid, session.userId)) {
    const code = await storeCode(request, valid, session, core);
    if (code !== undefined) return { case: "code" as const, value: code };
  }
  return { case: "authorization" as const, value: await authorizationOf(request, valid, userId, core) };
}

type AskedAccess = Pick<ValidRequest, "client" | "prompt" | "maxAge" | "hintedSub" | "scopes" | "resources">;

/** What a valid request would grant, and what the user has to be asked. @param userId of the signed-in user, if there is one */
export async function authorizationOf(
  request: Pick<AuthorizationRequest, "loginHint">,
  { client, scopes, resources, ...valid }: AskedAccess,
  userId: string | undefined,
  core: Core,
) {
  const consent = userId === undefined ? undefined : await core.consents.of(userId, client.clientId, consentFingerprint(client));
  const missing = missingConsent(scopes, resources, consent);
  return {
    client: clientView(client),
    scopes: [...scopes],
    resources: [...resources],
    consentRequired: mustAlwaysAsk(client) || valid.prompt.includes("consent") || !consentCovers(scopes, resources, consent),
    newScopes: [...missing.scopes],
    newResources: [...missing.resources],
    prompt: [...valid.prompt],
    ...(valid.maxAge !== undefined && { maxAge: valid.maxAge }),
    ...(request.loginHint !== undefined && { loginHint: request.loginHint }),
    ...(valid.hintedSub !== undefined && { hintedSub: valid.hintedSub }),
    lifetimes: accessLifetimes(client, core.lifetimes),
    resourceClients: [...(await namedTargets(core.clients)(resources)).values()].map(resourceClient),
  };
}

/** Logs the requested scopes that are dropped, because their absence would look like a fault of the client. */
export function logDropped(
  dropped: readonly string[],
  { resource }: Pick<AuthorizationRequest, "resource">,
  client: Client,
  requestId: string,
  { log }: Core,
): void {
  if (dropped.length === 0) return;
  const target = resource.length > 0 && { resource: resource.join(" ") };
  log.info("scope_dropped", { clientId: client.clientId, ...target, scope: printScope(dropped), rule: SCOPE_ALLOWED.name, requestId });
}

/**
 * Validates a request for the front. Once client and redirect URI are valid, faults are returned, not thrown.
 * @param session undefined when no code is to be issued yet
 * @throws {Refusal} as answerableClient, and temporarily_unavailable
 */
export async function validateAuthorization(
  request: AuthorizationRequest,
  userId: string | undefined,
  session: RequestSession | undefined,
  { address, requestId }: Pick<ValidateAuthorizationRequest, "address" | "requestId">,
  core: Core,
) {
  const client = await answerableClient(request, address, core);
  try {
    await core.resourceDiscovery?.discover(client.realmId, request.resource);
    const valid = await validateRequest(request, client, core);
    logDropped(valid.droppedScopes, request, client, requestId, core);
    return { outcome: await answerTo(request, valid, userId, session, core) };
  } catch (error) {
    if (!isRefusal(error) || error.code === "temporarily_unavailable") throw error;
    if (error.code === "invalid_scope") {
      const dropped = droppedScopes(request.scope, client, await requestedTarget(request, client, core));
      logDropped(dropped, request, client, requestId, core);
    }
    return { outcome: { case: "error" as const, value: { error: error.code, errorDescription: error.detail.description ?? "" } } };
  }
}

/** What a code for a valid request of this user is bound to, whichever way it takes to the client. */
export function bindingOf(
  { client, scopes, resources }: Pick<ValidRequest, "client" | "scopes" | "resources">,
  session: Pick<RequestSession, "userId" | "sessionId" | "authTime">,
) {
  const mark = consentFingerprint(client);
  const ofDocument = mark !== undefined && { documentClient: client, clientFingerprint: mark };
  return { clientId: client.clientId, scopes, resources, ...session, ...ofDocument };
}

/** Stores a code. @returns undefined when session, user, client or consent was not valid at the moment of writing */
async function storeCode(
  request: AuthorizationRequest,
  valid: ValidRequest,
  { userId, sessionId, authTime, requestId, decision }: RequestSession,
  core: Core,
) {
  const { client, scopes, resources } = valid;
  const code = decision ? codeOf(decision) : newSecret(core.randomBytes);
  const binding = {
    ...bindingOf(valid, { userId, sessionId, authTime }),
    redirectUri: request.redirectUri,
    codeChallenge: valid.codeChallenge,
    nonce: request.nonce ?? null,
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
 * Issues a code for a valid request that the user has consented to. Everything is validated again: the front relays, it does not decide.
 * @throws {Refusal} as the request deserves; access_denied when session, user, client or consent was not valid at the moment of writing
 * @see OAuth 2.1 §4.1.2
 */
export async function issueCode({ request, address, ...session }: IssueCodeRequest, core: Core): Promise<string> {
  if (request === undefined) throw new Refusal("invalid_request", "request_missing");
  const client = await answerableClient(request, address, core);
  const code = await storeCode(request, await validateRequest(request, client, core), session, core);
  if (code === undefined) throw new Refusal("access_denied", "consent_or_session_not_live");
  return code;
}
