import { type NamedTarget, namedTargets } from "../clients/agents.ts";
import { type Client, isOpenlyRegistered } from "../clients/client.ts";
import { documentHost } from "../clients/document-url.ts";
import { isPermittedRedirectUri, matchesRedirectUri } from "../clients/redirect-uri.ts";
import { resolveClient } from "../clients/resolve.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { AuthorizationRequest, IssueCodeRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { isCodeChallenge } from "../protocol/pkce.ts";
import { printScope } from "../protocol/scope.ts";
import { hashSecret, newSecret } from "../secret.ts";
import type { Core } from "./core.ts";
import { consentCovers, consentMark, mayHaveCodeAtOnce, missingConsent, mustAlwaysAsk } from "./policy/consent.ts";
import { assertMayUseGrant } from "./policy/grant-type.ts";
import { requestableResources } from "./policy/resource.ts";
import { requestableScopes } from "./policy/scope.ts";

/** An authorization request that is good in all its parts, in the values that would be granted. */
export interface GoodRequest {
  readonly client: Client;
  readonly codeChallenge: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly prompt: readonly string[];
  readonly maxAge: number | undefined;
  readonly hintedSub: string | undefined;
}

/** The parameters that decide where an answer may go at all. */
const ANSWER_PARAMETERS = ["client_id", "redirect_uri"];

/**
 * The client of an authorization request, when client and redirect URI are good: only then may an answer go by redirect. A client of a
 * metadata document is resolved anew on every leg of the flow.
 * @throws {Refusal} invalid_client, invalid_request, too_many_requests; never to be redirected
 * @see OAuth 2.1 §4.1.2.1, specification §4.6
 */
export async function answerableClient(request: AuthorizationRequest, address: string, core: Core): Promise<Client> {
  const repeated = request.repeatedParameters.find((name) => ANSWER_PARAMETERS.includes(name));
  if (repeated !== undefined) throw new Refusal("invalid_request", "parameter_repeated", { description: `${repeated} must be sent once` });
  if (request.clientId === "") throw new Refusal("invalid_request", "client_not_named", { description: "client_id is missing" });
  const client = await resolveClient(request.clientId, address, core);
  if (client === undefined || !client.enabled)
    throw new Refusal("invalid_client", "client_unknown", { description: "this client is not known here" });
  const { redirectUri } = request;
  if (redirectUri === "") throw new Refusal("invalid_request", "redirect_uri_missing", { description: "redirect_uri is missing" });
  if (!matchesRedirectUri(client.redirectUris, redirectUri)) {
    throw new Refusal("invalid_request", "redirect_uri_not_registered", { description: "redirect_uri is not registered for this client" });
  }
  if (!isPermittedRedirectUri(redirectUri, client.environment)) {
    throw new Refusal("invalid_request", "redirect_uri_not_permitted", {
      description: "redirect_uri is not permitted in the environment of this client",
    });
  }
  return client;
}

const UNSUPPORTED = {
  request: "request_not_supported",
  request_uri: "request_uri_not_supported",
  registration: "registration_not_supported",
} as const;

function assertForm(request: AuthorizationRequest): void {
  const malformed = (reason: string, description: string): never => {
    throw new Refusal("invalid_request", reason, { description });
  };
  const [repeated] = request.repeatedParameters;
  if (repeated !== undefined) malformed("parameter_repeated", "a parameter was sent more than once");
  for (const [name, code] of Object.entries(UNSUPPORTED)) {
    if (request.unsupportedParameters.includes(name))
      throw new Refusal(code, code, { description: `${name} is not supported: send the parameters in the query` });
  }
  if (request.responseMode !== undefined && request.responseMode !== "query")
    malformed("response_mode_unsupported", "response_mode must be query");
  if (request.responseType === undefined) malformed("response_type_missing", "response_type is missing");
  if (request.responseType !== "code")
    throw new Refusal("unsupported_response_type", "response_type_unsupported", { description: "response_type must be code" });
  if (request.codeChallenge === undefined) malformed("code_challenge_missing", "code_challenge is missing: PKCE is required");
  if (!isCodeChallenge(request.codeChallenge ?? ""))
    malformed("code_challenge_malformed", "code_challenge must be 43 base64url characters: the SHA-256 of the code_verifier");
  if (request.codeChallengeMethod !== "S256") malformed("code_challenge_method_unsupported", "code_challenge_method must be S256");
}

/** @throws {Refusal} invalid_request when `none` comes with others (OIDC Core §3.1.2.1) */
function parsePrompt(prompt: string | undefined): readonly string[] {
  const values = (prompt ?? "").split(" ").filter((value) => value !== "");
  if (values.includes("none") && values.length > 1)
    throw new Refusal("invalid_request", "prompt_none_with_others", { description: "prompt none stands alone" });
  return values;
}

function parseMaxAge(maxAge: string | undefined): number | undefined {
  if (maxAge === undefined) return undefined;
  if (!/^\d{1,9}$/.test(maxAge))
    throw new Refusal("invalid_request", "max_age_malformed", { description: "max_age must be a number of seconds" });
  return Number(maxAge);
}

/** The subject of an ID token of ours; it may have expired (OIDC Core §3.1.2.1). */
function hintedSubject(idTokenHint: string | undefined, core: Core): string | undefined {
  if (idTokenHint === undefined) return undefined;
  const sub = core.ownTokens.verify(idTokenHint, "JWT")?.sub;
  if (typeof sub !== "string")
    throw new Refusal("invalid_request", "id_token_hint_invalid", { description: "id_token_hint is no ID token of this issuer" });
  return sub;
}

/**
 * Judges the rest of the request, once its answer has somewhere to go.
 * @throws {Refusal} to be told to the client by redirect
 */
export async function judgeRequest(request: AuthorizationRequest, client: Client, core: Core): Promise<GoodRequest> {
  assertForm(request);
  assertMayUseGrant(client, "authorization_code");
  const scopes = requestableScopes(request.scope, client);
  const isClient = async (clientId: string) => (await core.clients.byClientId(clientId)) !== undefined;
  return {
    client,
    codeChallenge: request.codeChallenge ?? "",
    scopes,
    resources: await requestableResources(request.resource, core.issuer, scopes.includes("clients:manage"), isClient),
    prompt: parsePrompt(request.prompt),
    maxAge: parseMaxAge(request.maxAge),
    hintedSub: hintedSubject(request.idTokenHint, core),
  };
}

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
}

/** What the front is told of a request: a code if it can have one at once, else what it would grant and what is left to ask. */
async function answerTo(
  request: AuthorizationRequest,
  good: GoodRequest,
  userId: string | undefined,
  askedIn: AskedIn | undefined,
  core: Core,
) {
  if (askedIn !== undefined && mayHaveCodeAtOnce(good, askedIn.userId)) {
    const code = await storeCode(request, good, askedIn, core);
    if (code !== undefined) return { case: "code" as const, value: code };
  }
  const { client, scopes, resources } = good;
  const consent = userId === undefined ? undefined : await core.consents.of(userId, client.clientId, consentMark(client));
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

/**
 * Judges a request for the front. What is wrong with it once client and redirect URI are good is told, not thrown.
 * @param askedIn undefined when no code is to be issued yet
 * @throws {Refusal} as answerableClient, and temporarily_unavailable
 */
export async function validateAuthorization(
  request: AuthorizationRequest,
  userId: string | undefined,
  askedIn: AskedIn | undefined,
  address: string,
  core: Core,
) {
  const client = await answerableClient(request, address, core);
  try {
    return { outcome: await answerTo(request, await judgeRequest(request, client, core), userId, askedIn, core) };
  } catch (error) {
    if (!isRefusal(error) || error.code === "temporarily_unavailable") throw error;
    return { outcome: { case: "error" as const, value: { error: error.code, errorDescription: error.detail.description ?? "" } } };
  }
}

/** Stores a code. @returns undefined when session, user, client or consent did not hold at the moment of writing */
async function storeCode(
  request: AuthorizationRequest,
  good: GoodRequest,
  { userId, sessionId, authTime, requestId }: AskedIn,
  core: Core,
) {
  const { client, scopes, resources } = good;
  const code = newSecret(core.randomBytes);
  const mark = consentMark(client);
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
    ...(mark !== undefined && { documentClient: client, clientMark: mark }),
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
  const code = await storeCode(request, await judgeRequest(request, client, core), askedIn, core);
  if (code === undefined) throw new Refusal("access_denied", "consent_or_session_not_live");
  return code;
}
