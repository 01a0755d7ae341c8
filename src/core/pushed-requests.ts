import { create } from "@bufbuild/protobuf";
import { demandsOf } from "../clients/client.ts";
import { Refusal } from "../errors.ts";
import {
  type AuthorizationRequest,
  AuthorizationRequestSchema,
  type OpenPushedRequestRequest,
  type PushAuthorizationRequest,
} from "../gen/countersign/token/v1/token_pb.ts";
import { authorizationQuery, PUSHED_PREFIX, parseAuthorizationRequest } from "../protocol/authorization-request.ts";
import { hashSecret, newSecret } from "../random.ts";
import { assertRedirectUri, loggedRequest } from "./authorization-request.ts";
import { authenticatedClient } from "./client-authentication.ts";
import { consumeProof, type ProvenKey, refuseProof, verifyProof } from "./dpop.ts";
import type { Core } from "./ports.ts";

/** Seconds in which a browser may open a pushed request. */
const LIFETIME = 90;
/** Seconds, from the push, for which an opened request is kept: while its user signs up and waits for a mail. */
const OPENED_LIFETIME = 86_400;

/** How the languages of the pages are kept beside a request. */
const UI_LOCALES = "ui_locales";

/** A proof stands for `dpop_jkt`. @throws {Refusal} invalid_dpop_proof when they name different keys @see RFC 9449 §10.1 */
function withKey(request: AuthorizationRequest, proven: ProvenKey | undefined): AuthorizationRequest {
  if (proven === undefined) return request;
  if (request.dpopJkt !== undefined && request.dpopJkt !== proven.jkt) refuseProof("dpop_key_differs");
  return { ...request, dpopJkt: proven.jkt };
}

/**
 * Authenticates the client, as at the token endpoint, and stores a request that is valid but for its user. A refused request uses up
 * nothing but the client's assertion.
 * @throws {Refusal} of authentication; as the authorization endpoint would refuse the request; invalid_dpop_proof, use_dpop_nonce
 * @see RFC 9126 §2, docs/protocol.md#pushed-authorization-requests
 */
export async function pushAuthorization(
  { client: credential, request, address, requestId, uiLocales }: PushAuthorizationRequest,
  core: Core,
) {
  const client = await authenticatedClient(credential, address, core);
  const proven = credential?.dpop && verifyProof(credential.dpop, core, demandsOf(client));
  const sent = request ?? create(AuthorizationRequestSchema);
  if (sent.unsupportedParameters.includes("request_uri"))
    throw new Refusal("invalid_request", "request_uri_pushed", { description: "request_uri cannot be pushed." });
  const requestUri = `${PUSHED_PREFIX}${newSecret(core.randomBytes)}`;
  const pushed = { ...withKey(sent, proven), clientId: client.clientId, pushedRequest: requestUri };
  assertRedirectUri(pushed, client, core.issuer);
  await loggedRequest(pushed, client, requestId, core);
  if (proven !== undefined) await consumeProof(proven, core);
  const languages = uiLocales === undefined ? "" : `&${new URLSearchParams([[UI_LOCALES, uiLocales]])}`;
  await core.pushedRequests.put(hashSecret(requestUri), client.clientId, `${authorizationQuery(pushed)}${languages}`, LIFETIME);
  return { requestUri, expiresIn: LIFETIME, ...(proven?.dpopNonce !== undefined && { dpopNonce: proven.dpopNonce }) };
}

/**
 * Opens a pushed request in a browser, which keeps it.
 * @throws {Refusal} not_found, the same for one that is unknown, of another client, open in another browser, used up or expired
 */
export async function openPushedRequest({ clientId, requestUri, browser }: OpenPushedRequestRequest, core: Core) {
  const query = await core.pushedRequests.open(hashSecret(requestUri), clientId, browser, OPENED_LIFETIME);
  if (query === undefined) throw new Refusal("not_found", "pushed_request_unknown");
  const uiLocales = new URLSearchParams(query).get(UI_LOCALES);
  return { request: { ...parseAuthorizationRequest(query), pushedRequest: requestUri }, ...(uiLocales !== null && { uiLocales }) };
}

const over = (): Refusal => new Refusal("not_found", "pushed_request_over", { description: "This request has expired." });

/** What was pushed, for a request that names it: the front relays, it does not decide. @throws {Refusal} not_found */
export async function reopenedRequest(
  { clientId }: Pick<AuthorizationRequest, "clientId">,
  pushedRequest: string,
  core: Core,
): Promise<AuthorizationRequest> {
  const opened = await core.pushedRequests.opened(hashSecret(pushedRequest), clientId);
  if (opened === undefined) throw over();
  return create(AuthorizationRequestSchema, { ...parseAuthorizationRequest(opened.query), pushedRequest });
}

/** After a code was not stored. @throws {Refusal} not_found where another one had used the pushed request up, as in another tab */
export async function assertUnused({ clientId, pushedRequest }: AuthorizationRequest, core: Core): Promise<void> {
  if (pushedRequest !== undefined && (await core.pushedRequests.opened(hashSecret(pushedRequest), clientId))?.isUsed !== false)
    throw over();
}
