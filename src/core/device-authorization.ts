import { type Client, demandsOf } from "../clients/client.ts";
import { Refusal } from "../errors.ts";
import type { AuthorizeDeviceRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { DEVICE_CODE } from "../protocol/grants.ts";
import { newUserCode, parseUserCode, printUserCode } from "../protocol/user-code.ts";
import { hashSecret, newId, newSecret } from "../random.ts";
import { demandOf } from "../resources/resource.ts";
import { authorizationOf, bindingOf, type RequestSession } from "./authorization.ts";
import { assertShort, loggingDropped, requestableAccess, requestedTarget } from "./authorization-request.ts";
import { authenticatedClient } from "./client-authentication.ts";
import { consumeProof, verifyProof } from "./dpop.ts";
import { LAST_POLLS } from "./grants/device-code/grant.ts";
import { GRANT_HELD, issueRecord } from "./grants/grant.ts";
import type { Core } from "./ports.ts";
import type { DeviceState } from "./stored-grants.ts";

/** Seconds for which both codes of a device request are valid; the device code answers for LAST_POLLS longer. */
const LIFETIME = 600;
/** Seconds between two polls of a device. */
const INTERVAL = 5;
/** User codes that are tried; another one is taken by chance once in millions. */
const TRIES = 3;

/**
 * Authenticates the client, as at the token endpoint, and begins a device request. A metadata document is fetched here; the grant uses the
 * client as it was then. A proof of possession binds the device code to its key.
 * @throws {Refusal} of authentication; invalid_request, invalid_dpop_proof, use_dpop_nonce, unauthorized_client, invalid_scope, invalid_target
 * @see RFC 8628 §3.1, docs/protocol.md#device-authorization
 */
export async function authorizeDevice(request: AuthorizeDeviceRequest, core: Core) {
  const client = await authenticatedClient(request.client, request.address, core);
  const proven = request.client?.dpop && verifyProof(request.client.dpop, core, demandsOf(client));
  GRANT_HELD.check({ client, grant: { case: "deviceCode" } });
  assertShort({ scope: request.scope, resource: request.resource });
  const { scopes, resources } = await loggingDropped(request, client, core, async () =>
    requestableAccess(request, client, await requestedTarget(request, client, core), core),
  );
  if (proven !== undefined) await consumeProof(proven, core);
  const address = request.client?.address ?? "";
  for (let tries = 0; tries < TRIES; tries++) {
    const [deviceCode, userCode] = [newSecret(core.randomBytes), newUserCode(core.randomBytes)];
    const opened = await core.devices.open(
      {
        id: newId(core.clock, core.randomBytes),
        deviceCodeHash: hashSecret(deviceCode),
        userCodeHash: hashSecret(userCode),
        clientId: client.clientId,
        scopes,
        resources,
        ...(client.origin === "metadata_document" && { documentClient: client }),
        address,
        pollInterval: INTERVAL,
        dpopJkt: proven?.jkt ?? null,
      },
      LIFETIME,
    );
    if (opened)
      return { deviceCode, userCode: printUserCode(userCode), expiresIn: LIFETIME, interval: INTERVAL, dpopNonce: proven?.dpopNonce };
  }
  throw new Refusal("temporarily_unavailable", "user_codes_taken", { retryAfter: 1 });
}

/** The id of the pending request with a user code. @param text as the user wrote it  @throws {Refusal} not_found */
export async function findDeviceRequest(text: string, core: Core): Promise<string> {
  const userCode = parseUserCode(text);
  const id = userCode === undefined ? undefined : await core.devices.pendingByUserCode(hashSecret(userCode));
  if (id === undefined) throw new Refusal("not_found", "user_code_unknown");
  return id;
}

/** A device request that has not expired, with its client. @throws {Refusal} expired_token, invalid_client */
async function decidable(id: string, core: Core): Promise<{ readonly device: DeviceState; readonly client: Client }> {
  const device = await core.devices.byId(id);
  if (device === undefined || device.deniedAt !== null || device.expiresAt <= device.now)
    throw new Refusal("expired_token", "device_request_over");
  const client = device.documentClient ?? (await core.clients.byClientId(device.clientId));
  if (client === undefined || !client.enabled) throw new Refusal("invalid_client", "client_unknown");
  return { device, client };
}

/** What the requested scopes demand of the sign-in now. */
const demandAt = async ({ scopes, resources }: DeviceState, client: Client, core: Core) =>
  demandOf(scopes, (await requestedTarget({ resource: [...resources] }, client, core)).terms);

/**
 * What a device request would grant. The user is asked each time, because somebody else may have sent them the code.
 * @throws {Refusal} expired_token, invalid_client
 * @see RFC 8628 §5.4
 */
export async function validateDeviceRequest(id: string, userId: string | undefined, core: Core) {
  const { device, client } = await decidable(id, core);
  const { scopes, resources, address } = device;
  const demand = await demandAt(device, client, core);
  const asked = { prompt: ["consent"], maxAge: undefined, acrValues: undefined, demand, hintedSub: undefined };
  const authorization = await authorizationOf({}, { client, scopes, resources, ...asked }, userId, core);
  return { case: "authorization" as const, value: { ...authorization, device: { address } } };
}

/**
 * Approves a device request to which the user has consented: stores an authorization code with the hash of the device code. No redirect URI
 * and no code_verifier match it, so that only the device grant can use it.
 * @throws {Refusal} expired_token, invalid_client; conflict when session, user, client or consent was not valid at the moment of writing, or another user came first
 */
export async function approveDevice(id: string, { userId, sessionId, authTime, requestId }: RequestSession, core: Core): Promise<void> {
  const { device, client } = await decidable(id, core);
  const { scopes, resources, deviceCodeHash } = device;
  const demand = await demandAt(device, client, core);
  const binding = {
    ...bindingOf({ client, scopes, resources, acrValues: undefined, maxAge: undefined, demand }, { userId, sessionId, authTime }),
    redirectUri: "",
    codeChallenge: "",
    nonce: null,
  };
  const approved = { userId, clientId: client.clientId, grantType: DEVICE_CODE, scopes, audience: resources, requestId };
  const audit = issueRecord("user", approved, "device.approved");
  const issued = await core.codes.issue(deviceCodeHash, binding, device.expiresAt + LAST_POLLS - device.now, audit);
  // The first approval counts, and a repeated one changes nothing.
  const approver = issued ? (await core.codes.byHash(deviceCodeHash))?.userId : undefined;
  if (approver !== userId) throw new Refusal("conflict", "device_not_approved");
}
