import { type Client, CONSOLE_CLIENT_ID, consoleRedirectUri, demandsOf } from "../clients/client.ts";
import { assertDocumentUrl, clientsAmong, resolveClient } from "../clients/find-client.ts";
import { isPermittedRedirectUri, loopbackMistake, matchesRedirectUri } from "../clients/redirect-uri.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { AuthorizationRequest, ValidateAuthorizationRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { isAbsoluteUri, isResourceUri, MAX_RESOURCES, parsedSpelling } from "../protocol/access.ts";
import { knownAcrValues } from "../protocol/authentication-context.ts";
import { isCodeChallenge, tooLong } from "../protocol/authorization-request.ts";
import { detailsRefused } from "../protocol/grants.ts";
import { demandOf, termsOf } from "../resources/resource.ts";
import { GRANT_HELD } from "./grants/grant.ts";
import {
  distinctResources,
  droppedScopes,
  requestableResources,
  requestableScopes,
  SCOPE_ALLOWED,
  serviceReach,
  type Target,
} from "./policy/access.ts";
import type { Rule } from "./policy/rule.ts";
import type { Core } from "./ports.ts";
import { readIdTokenHint } from "./tokens/id-token.ts";

/** A valid authorization request in the values that would be granted. The client may not have the `droppedScopes` that it requested. */
export type ValidRequest = Awaited<ReturnType<typeof validateRequest>>;

const ANSWER_PARAMETERS = ["client_id", "redirect_uri"];

/** A refusal of the value of a parameter, which the page then shows. */
const valueRefused = (code: "invalid_client" | "invalid_request", reason: string, path: string, description: string): Refusal =>
  new Refusal(code, reason, { description, issues: [{ path, message: description }] });

/**
 * Finds the client of an authorization request. The response may be sent by redirect only when client and redirect URI are valid. A client
 * of a metadata document is resolved again on every leg of the flow.
 * @throws {Refusal} invalid_client, invalid_request, too_many_requests; never to be sent by redirect
 * @see OAuth 2.1 §4.1.2.1, docs/protocol.md#authorization-request
 */
export async function answerableClient(request: AuthorizationRequest, address: string, core: Core): Promise<Client> {
  const repeated = request.repeatedParameters.find((name) => ANSWER_PARAMETERS.includes(name));
  if (repeated !== undefined) throw new Refusal("invalid_request", "parameter_repeated", { description: `${repeated} must be sent once.` });
  if (request.clientId === "") throw new Refusal("invalid_request", "client_not_named", { description: "client_id is missing." });
  const client = await resolveClient(request.clientId, address, core);
  // Meant as the URL of a metadata document: this says what is wrong with it.
  if (client === undefined && core.documents !== undefined && request.clientId.startsWith("http://")) assertDocumentUrl(request.clientId);
  if (client === undefined || !client.enabled)
    throw valueRefused("invalid_client", "client_unknown", "client_id", "This client is not known here.");
  assertRedirectUri(request, client, core.issuer);
  return client;
}

/** @throws {Refusal} invalid_request for a redirect URI that is not registered or not permitted; never to be sent by redirect */
export function assertRedirectUri({ redirectUri }: Pick<AuthorizationRequest, "redirectUri">, client: Client, issuer: string): void {
  if (redirectUri === "") throw new Refusal("invalid_request", "redirect_uri_missing", { description: "redirect_uri is missing." });
  const isConsole = client.clientId === CONSOLE_CLIENT_ID; // its codes need no consent: not even the port of a loopback address may differ
  if (isConsole ? redirectUri !== consoleRedirectUri(issuer) : !matchesRedirectUri(client.redirectUris, redirectUri)) {
    const mistake = isConsole ? undefined : loopbackMistake(client.redirectUris, redirectUri);
    const description = `redirect_uri is not registered for this client${mistake === undefined ? "" : `: ${mistake}`}.`;
    throw valueRefused("invalid_request", "redirect_uri_not_registered", "redirect_uri", description);
  }
  if (!isConsole && !isPermittedRedirectUri(redirectUri, client)) {
    const description = "redirect_uri is not permitted in the environment of this client.";
    throw valueRefused("invalid_request", "redirect_uri_not_permitted", "redirect_uri", description);
  }
}

/** @see RFC 9126 §4, §6 */
export const PUSHED: Rule<{
  readonly request: Pick<AuthorizationRequest, "pushedRequest">;
  readonly client: Client;
  readonly requirePushed: boolean;
}> = {
  name: "request_pushed",
  demand: "A request is pushed first, if the client or REQUIRE_PAR demands it.",
  source: "RFC 9126 §6",
  conditional: true,
  check: ({ request, client, requirePushed }) => {
    if (request.pushedRequest === undefined && (requirePushed || demandsOf(client).pushedRequests))
      throw new Refusal("invalid_request", "request_not_pushed", {
        description: "Push the request to the pushed authorization request endpoint first, and send client_id and request_uri.",
      });
  },
};

const UNSUPPORTED = {
  request: "request_not_supported",
  request_uri: "request_uri_not_supported",
  registration: "registration_not_supported",
} as const;

/** @throws {Refusal} invalid_request for a request that is too long to be stored while users sign in */
export function assertShort(request: Parameters<typeof tooLong>[0]): void {
  const long = tooLong(request);
  if (long === undefined) return;
  const description = `${long.what} is too long: at most ${long.limit} characters, percent-encoded, are accepted.`;
  throw new Refusal("invalid_request", "parameter_too_long", { description });
}

/** Evaluated first: what cannot be read says nothing about grant and scope. */
export const FORM: Rule<AuthorizationRequest> = {
  name: "authorization_form",
  demand: "No parameter is repeated, too long or unsupported; response_type, response_mode, code_challenge and dpop_jkt are well formed.",
  source: "OAuth 2.1 §4.1.1, RFC 7636 §4.3, RFC 9449 §10",
  check: assertForm,
};

function assertForm(request: AuthorizationRequest): void {
  const malformed = (reason: string, description: string): never => {
    throw new Refusal("invalid_request", reason, { description });
  };
  const [repeated] = request.repeatedParameters;
  if (repeated !== undefined) malformed("parameter_repeated", "A parameter was sent more than once.");
  assertShort(request);
  for (const [name, code] of Object.entries(UNSUPPORTED)) {
    if (request.unsupportedParameters.includes(name))
      throw new Refusal(code, code, { description: `${name} is not supported; send the parameters themselves.` });
  }
  if (request.unsupportedParameters.includes("authorization_details")) throw detailsRefused();
  if (request.responseType === undefined) malformed("response_type_missing", "response_type is missing.");
  if (request.responseType !== "code")
    throw new Refusal("unsupported_response_type", "response_type_unsupported", { description: "response_type must be code." });
  if (request.responseMode !== undefined && request.responseMode !== "query")
    malformed("response_mode_unsupported", "response_mode must be query.");
  if (request.codeChallenge === undefined) malformed("code_challenge_missing", "code_challenge is missing: PKCE is required.");
  if (!isCodeChallenge(request.codeChallenge ?? ""))
    malformed("code_challenge_malformed", "code_challenge must be 43 base64url characters: the SHA-256 of the code_verifier.");
  if (request.codeChallengeMethod !== "S256") malformed("code_challenge_method_unsupported", "code_challenge_method must be S256.");
  // A thumbprint has the form of a code_challenge: a SHA-256 in base64url.
  if (request.dpopJkt !== undefined && !isCodeChallenge(request.dpopJkt))
    malformed("dpop_jkt_malformed", "dpop_jkt must be 43 base64url characters: the SHA-256 thumbprint of the key.");
}

/** @throws {Refusal} invalid_request when `none` comes with others (OIDC Core §3.1.2.1) */
function parsePrompt(prompt: string): readonly string[] {
  const values = prompt.split(" ").filter((value) => value !== "");
  if (values.includes("none") && values.length > 1)
    throw new Refusal("invalid_request", "prompt_none_with_others", { description: "prompt=none cannot be combined with other values." });
  return values;
}

function parseMaxAge(maxAge: string): number {
  if (!/^\d{1,9}$/.test(maxAge))
    throw new Refusal("invalid_request", "max_age_malformed", { description: "max_age must be a number of seconds." });
  return Number(maxAge);
}

/** The subject of an ID token of this issuer; the token may have expired (OIDC Core §3.1.2.1). */
function hintedSubject(idTokenHint: string, core: Core): string {
  const hint = readIdTokenHint(idTokenHint, core);
  if (hint === undefined)
    throw new Refusal("invalid_request", "id_token_hint_invalid", { description: "id_token_hint is not an ID token of this issuer." });
  return hint.sub;
}

type AccessParameters = Pick<AuthorizationRequest, "scope" | "resource">;

/** The requested resources with the terms of their records, and of those that parsers would find under another spelling. */
export async function requestedTarget({ resource }: Pick<AccessParameters, "resource">, client: Client, core: Core): Promise<Target> {
  const named = distinctResources(resource, core.issuer).slice(0, MAX_RESOURCES);
  const uris = [...new Set(named.filter(isAbsoluteUri).flatMap((uri) => [uri, parsedSpelling(uri)]))];
  return { resources: named, terms: uris.length === 0 ? [] : await core.resources.of(client.realmId, uris) };
}

/** The scopes and resources that a client may request of a user. @throws {Refusal} invalid_scope, invalid_target */
export async function requestableAccess({ scope, resource }: AccessParameters, client: Client, target: Target, core: Core) {
  const { granted: scopes, dropped: droppedScopes } = requestableScopes(scope, client, target);
  const { terms } = target;
  const requireKnown = core.requireKnownResources;
  const isPerhapsClient = (each: string) =>
    !isResourceUri(each) || (requireKnown && each !== core.issuer && termsOf(each, terms) === undefined);
  const known = { terms, clients: await clientsAmong(target.resources.filter(isPerhapsClient), core.clients), requireKnown };
  const resources = requestableResources(resource, core.issuer, serviceReach(client.clientId, scopes), known);
  return { scopes, droppedScopes, resources, terms };
}

/** Validates the rest of the request, once the response has somewhere to go. @throws {Refusal} to be sent to the client by redirect */
export async function validateRequest(request: AuthorizationRequest, client: Client, core: Core) {
  const finding = requestedTarget(request, client, core);
  finding.catch(() => undefined); // not awaited when the request is refused first
  FORM.check(request);
  PUSHED.check({ request, client, requirePushed: core.requirePushedRequests });
  GRANT_HELD.check({ client, grant: { case: "authorizationCode" } });
  const access = await requestableAccess(request, client, await finding, core);
  const { codeChallenge = "", prompt, maxAge, acrValues, idTokenHint } = request;
  return {
    client,
    codeChallenge,
    ...access,
    demand: demandOf(access.scopes, access.terms),
    prompt: prompt === undefined ? [] : parsePrompt(prompt),
    maxAge: maxAge === undefined ? undefined : parseMaxAge(maxAge),
    acrValues: acrValues === undefined ? undefined : knownAcrValues(acrValues),
    hintedSub: idTokenHint === undefined ? undefined : hintedSubject(idTokenHint, core),
  };
}

/** The same, and logs the requested scopes that are dropped. @throws {Refusal} as validateRequest */
export async function loggedRequest(request: AuthorizationRequest, client: Client, requestId: string, core: Core): Promise<ValidRequest> {
  return loggingDropped({ ...request, requestId }, client, core, () => validateRequest(request, client, core));
}

/**
 * Finds the access that a request asks for, once unknown resources were looked up, and logs the requested scopes that are dropped: their
 * absence would look like a fault of the client.
 */
export async function loggingDropped<Access extends { readonly droppedScopes: readonly string[] }>(
  { scope, resource, requestId }: AccessParameters & Pick<ValidateAuthorizationRequest, "requestId">,
  client: Client,
  core: Core,
  find: () => Promise<Access>,
): Promise<Access> {
  const log = (dropped: readonly string[]): void => {
    if (dropped.length === 0) return;
    const target = resource.length > 0 && { resource: resource.join(" ") };
    core.log.info("scope_dropped", { clientId: client.clientId, ...target, scope: dropped.join(" "), rule: SCOPE_ALLOWED.name, requestId });
  };
  await core.resourceDiscovery?.discover(client.realmId, resource);
  try {
    const access = await find();
    log(access.droppedScopes);
    return access;
  } catch (error) {
    if (isRefusal(error) && error.reason === "no_scope_left")
      log(droppedScopes(scope, client, await requestedTarget({ resource }, client, core)));
    throw error;
  }
}
