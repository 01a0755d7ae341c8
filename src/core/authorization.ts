import { createHmac } from "node:crypto";
import { type Client, demandsOf, isOpenlyRegistered } from "../clients/client.ts";
import { clientsAmong, documentHost } from "../clients/find-client.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { AuthorizationRequest, IssueCodeRequest, ValidateAuthorizationRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { hashSecret, newSecret } from "../random.ts";
import { answerableClient, loggedRequest, type ValidRequest, validateRequest } from "./authorization-request.ts";
import { issueRecord } from "./grants/grant.ts";
import { consentFingerprint, mayHaveCodeAtOnce, missingConsent, mustAlwaysAsk, needsNoConsent } from "./policy/consent.ts";
import type { Core } from "./ports.ts";
import { assertUnused, reopenedRequest } from "./pushed-requests.ts";

export const clientView = (client: Client) => ({
  clientId: client.clientId,
  name: client.name,
  openRegistration: isOpenlyRegistered(client),
  ...(client.origin === "metadata_document" && { verifiedHost: documentHost(client.clientId) }),
  ...(client.environment !== null && { environment: client.environment }),
});

const resourceClient = ({ clientId, name, isAgent }: Client) => ({ clientId, name, agent: isAgent });

/** The session of the user, for a code that may be issued at once. `authTime` in seconds since the epoch. */
export type RequestSession = Pick<IssueCodeRequest, "userId" | "sessionId" | "authTime" | "requestId" | "decision">;

/** The one code of a decision, however often it is requested. @param decision a secret that stands for one decision of the user */
const codeOf = (decision: string): string => createHmac("sha256", decision).update("authorization code").digest("base64url");

type AskedAccess = Pick<ValidRequest, "client" | "prompt" | "maxAge" | "acrValues" | "demand" | "hintedSub" | "scopes" | "resources">;

/** What a valid request would grant, and what the user has to be asked. @param userId of the signed-in user, if there is one */
export async function authorizationOf(
  request: Pick<AuthorizationRequest, "loginHint">,
  { client, scopes, resources, ...valid }: AskedAccess,
  userId: string | undefined,
  core: Core,
) {
  const consent = userId === undefined ? undefined : await core.consents.of(userId, client.clientId, consentFingerprint(client));
  const { accessToken, refreshToken, refreshFamilyMax } = core.lifetimes;
  const missing = missingConsent(scopes, resources, consent);
  const maxAge = Math.min(valid.maxAge ?? Number.POSITIVE_INFINITY, valid.demand?.maxAge ?? Number.POSITIVE_INFINITY);
  const isNew = missing.scopes.length > 0 || missing.resources.length > 0;
  const isAsked = mustAlwaysAsk(client) || valid.prompt.includes("consent") || isNew;
  return {
    client: clientView(client),
    scopes: [...scopes],
    resources: [...resources],
    consentRequired: isAsked && !needsNoConsent(client),
    newScopes: [...missing.scopes],
    newResources: [...missing.resources],
    prompt: [...valid.prompt],
    ...(Number.isFinite(maxAge) && { maxAge }),
    ...(valid.acrValues && { acrValues: [...valid.acrValues] }),
    ...(valid.demand?.acr !== undefined && { requiredAcr: valid.demand.acr }),
    ...(request.loginHint !== undefined && { loginHint: request.loginHint }),
    ...(valid.hintedSub !== undefined && { hintedSub: valid.hintedSub }),
    lifetimes: { accessToken, ...(client.grantTypes.includes("refresh_token") && { refreshToken, refreshFamilyMax }) },
    resourceClients: [...(await clientsAmong(resources, core.clients)).values()].map(resourceClient),
  };
}

/**
 * Validates a request for the front. Once client and redirect URI are valid, faults are returned, not thrown.
 * @returns a code if it can be issued at once, else what the request would grant and what the user has to be asked
 * @param session undefined when no code is to be issued yet
 * @throws {Refusal} as answerableClient, temporarily_unavailable, and not_found for a pushed request that is over
 */
export async function validateAuthorization(
  sent: AuthorizationRequest,
  userId: string | undefined,
  session: RequestSession | undefined,
  { address, requestId }: Pick<ValidateAuthorizationRequest, "address" | "requestId">,
  core: Core,
) {
  const request = sent.pushedRequest === undefined ? sent : await reopenedRequest(sent, sent.pushedRequest, core);
  const client = await answerableClient(request, address, core);
  try {
    const valid = await loggedRequest(request, client, requestId, core);
    const atOnce = session !== undefined && mayHaveCodeAtOnce(valid, session.userId);
    const code = atOnce ? await storeCode(request, valid, session, core) : undefined;
    if (code !== undefined) return { outcome: { case: "code" as const, value: code } };
    return { outcome: { case: "authorization" as const, value: await authorizationOf(request, valid, userId, core) } };
  } catch (error) {
    if (!isRefusal(error) || error.code === "temporarily_unavailable") throw error;
    return { outcome: { case: "error" as const, value: { error: error.code, errorDescription: error.detail.description ?? "" } } };
  }
}

/** What a code for a valid request of this user is bound to, whichever way it takes to the client. */
export function bindingOf(
  { client, scopes, resources, acrValues, maxAge, demand }: Omit<AskedAccess, "prompt" | "hintedSub">,
  session: Pick<RequestSession, "userId" | "sessionId" | "authTime">,
) {
  const mark = consentFingerprint(client);
  const ofDocument = mark !== undefined && { documentClient: client, clientFingerprint: mark };
  const isAsked = acrValues !== undefined || maxAge !== undefined || demand !== undefined;
  return {
    clientId: client.clientId,
    scopes,
    resources,
    ...session,
    ...ofDocument,
    ...(isAsked && { stated: { requested: acrValues ?? [], inIdToken: acrValues !== undefined } }),
    ...(demand && { demand }),
  };
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
    ...(request.dpopJkt !== undefined && { dpopJkt: request.dpopJkt }),
    ...(request.pushedRequest !== undefined && { pushedRequest: hashSecret(request.pushedRequest) }),
  };
  const lifetime = Math.min(core.lifetimes.authorizationCode, demandsOf(client).codeLifetime);
  const audit = issueRecord("user", { userId, clientId: client.clientId, scopes, audience: resources, requestId }, "code.issued");
  return (await core.codes.issue(hashSecret(code), binding, lifetime, audit)) ? code : undefined;
}

/**
 * Issues a code for a valid request that the user has consented to. Everything is validated again: the front relays, it does not decide.
 * @throws {Refusal} as the request deserves; not_found for a pushed one that is over; access_denied when session, user, client or consent was not valid at the moment of writing
 * @see OAuth 2.1 §4.1.2
 */
export async function issueCode({ request: sent, address, ...session }: IssueCodeRequest, core: Core): Promise<string> {
  if (sent === undefined) throw new Refusal("invalid_request", "request_missing");
  const request = sent.pushedRequest === undefined ? sent : await reopenedRequest(sent, sent.pushedRequest, core);
  const client = await answerableClient(request, address, core);
  const code = await storeCode(request, await validateRequest(request, client, core), session, core);
  if (code !== undefined) return code;
  await assertUnused(request, core);
  throw new Refusal("access_denied", "consent_or_session_not_live");
}
