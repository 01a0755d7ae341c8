import { FIRST_PARTY_CLIENT_ID } from "../clients/client.ts";
import { resolveClient } from "../clients/find-client.ts";
import { Refusal } from "../errors.ts";
import type { ExplainRequest, IntrospectRequest, IssueCodeRequest, LoginTokensRequest } from "../gen/countersign/token/v1/token_pb.ts";
import { hashSecret, newId, sameHash } from "../random.ts";
import { clientView, issueCode, validateAuthorization } from "./authorization.ts";
import { verifyBearer } from "./bearer.ts";
import { anySecretMethod, authenticateAttempt, authenticateClient, presentedCredential } from "./client-authentication.ts";
import { approveDevice, authorizeDevice, findDeviceRequest, validateDeviceRequest } from "./device-authorization.ts";
import { inTime } from "./effects.ts";
import { explainAuthorizationRequest, explainRefusal, explainTokenRequest, explainWorkloadToken } from "./explain.ts";
import { newRefresh } from "./grants/authorization-code/grant.ts";
import { accessTokenAnswer, issueRecord } from "./grants/grant.ts";
import { introspect, prefetchStates, signedAnswer, verifyApiKey } from "./introspection.ts";
import { validateLogout } from "./logout.ts";
import type { CallContext, Core, CorePorts, TokenCoreImplementation } from "./ports.ts";
import { openPushedRequest, pushAuthorization } from "./pushed-requests.ts";
import { revoke } from "./revocation.ts";
import { issuedTokens } from "./signing/jws.ts";
import { successorOf } from "./signing/keys.ts";
import type { NewGrant } from "./stored-grants.ts";
import { answerTokenRequest } from "./token-request.ts";
import { newJti } from "./tokens/access-token.ts";

/** Seconds. */
const ONE_CALL_LIFETIME = 300;

const LOGIN_SCOPES = ["openid", "profile", "email"];

/**
 * Issues a token set to a user who has just signed in with the service itself. Its audience is the issuer.
 * @throws {Refusal} unauthenticated when the user or the session is no longer valid; access_denied while the first-party client is disabled
 * @see docs/protocol.md#login-tokens
 */
async function loginTokens({ userId, sessionId, authTime, requestId, oneCall, address }: LoginTokensRequest, core: Core) {
  core.keys.signing().hybrid?.assertOpen();
  const client = await core.clients.byClientId(FIRST_PARTY_CLIENT_ID);
  if (client === undefined || !client.enabled) throw new Refusal("access_denied", "first_party_client_disabled");
  const audience = [core.issuer];
  const { clientId } = client;
  const grant: NewGrant = { id: newId(core.clock, core.randomBytes), clientId, userId, scopes: LOGIN_SCOPES, audience, authTime };
  const jti = newJti(core.randomBytes, grant.id);
  const refresh = oneCall ? undefined : newRefresh(core);
  const issued = { userId, clientId, grantType: "login", scopes: LOGIN_SCOPES, audience, jti, grantId: grant.id, requestId };
  const audit = issueRecord("user", { ...issued, ...(oneCall && { reason: "one_call", address }) });
  if (!(await core.grants.open(grant, refresh?.family, sessionId, audit)))
    throw new Refusal("unauthenticated", "session_not_live", { description: "The session is not valid any more. Sign in again." });
  const lifetime = Math.min(core.lifetimes.accessToken, oneCall ? ONE_CALL_LIFETIME : Number.POSITIVE_INFINITY);
  const token = { subject: userId, client, scopes: LOGIN_SCOPES, audience, jti, lifetime };
  const { accessToken, expiresIn, tokenType } = await accessTokenAnswer(token, core);
  return { accessToken, expiresIn, tokenType, refreshToken: refresh?.token ?? "" };
}

const coreOf = (ports: CorePorts): Core => ({
  ...ports,
  issuedTokens: issuedTokens(ports.issuer, ports.keys),
  successor(request, current) {
    const derived = successorOf(ports.keys.signing().accessToken)(request);
    const isCurrent = (token: string) => current !== undefined && sameHash(hashSecret(token), current);
    return ports.keys.own.map((key) => successorOf(key)(request)).find(isCurrent) ?? derived;
  },
});

/** Approves the request of a device, or stores a code. */
async function issue(request: IssueCodeRequest, core: Core) {
  const device = request.request?.deviceRequest;
  if (device === undefined) return { code: await issueCode(request, core) };
  await approveDevice(device, request, core);
  return {};
}

/** The token core: one function for each method of TokenCoreService. */
export function tokenCore(ports: CorePorts): TokenCoreImplementation {
  const whole = coreOf(ports);
  /** What issues: refused with temporarily_unavailable while the time is uncertain, and after the call's deadline. */
  const issuing =
    <Request, Answer>(answer: (request: Request, core: Core) => Promise<Answer>) =>
    async (request: Request, context: CallContext): Promise<Answer> => {
      await whole.clocks?.assertTrue();
      await whole.keys.settled();
      return answer(request, inTime(whole, context));
    };
  return {
    token: issuing(answerTokenRequest),

    async validateAuthorization({ request, userId, session, requestId, address }, context) {
      const core = inTime(whole, context);
      if (request === undefined) throw new Refusal("invalid_request", "request_missing");
      if (request.deviceRequest !== undefined) return { outcome: await validateDeviceRequest(request.deviceRequest, userId, core) };
      // While the time is uncertain no code is issued here; `issueCode` reports it.
      const signedIn =
        session && core.clocks?.isTrue() !== false && userId !== undefined
          ? { userId, sessionId: session.id, authTime: session.authTime, requestId }
          : undefined;
      return validateAuthorization(request, userId, signedIn, { address, requestId }, core);
    },

    issueCode: issuing(issue),

    pushAuthorization: issuing(pushAuthorization),
    openPushedRequest: (request) => openPushedRequest(request, whole),

    authorizeDevice: issuing(authorizeDevice),
    findDeviceRequest: async ({ userCode }) => ({ deviceRequest: await findDeviceRequest(userCode, whole) }),
    async denyDeviceRequest({ deviceRequest }) {
      if (!(await whole.devices.deny(deviceRequest))) throw new Refusal("conflict", "device_approved_before");
      return {};
    },

    loginTokens: issuing(loginTokens),

    introspect: (request) => answerIntrospection(request, whole),

    async verifyApiKey({ client: credential, key }) {
      await authenticateClient(credential, anySecretMethod, whole);
      return { state: await verifyApiKey(key, whole) };
    },

    async revoke({ client: credential, token, requestId }) {
      const client = await authenticateClient(credential, anySecretMethod, whole);
      await revoke(token, client, requestId, whole);
      return {};
    },

    verifyAccessToken: ({ accessToken, use, dpop }) => verifyBearer(accessToken, use, whole, dpop),

    publicKeys: async () => ({ jwksJson: whole.keys.jwksJson() }),

    async resolveClient({ clientId, address }) {
      const client = await resolveClient(clientId, address, whole);
      if (client === undefined) throw new Refusal("not_found", "client_unknown");
      return { client: clientView(client) };
    },

    validateLogout: (request) => validateLogout(request, whole),
    explain: (request) => explain(request, whole),
  };
}

async function explain({ subject, address }: ExplainRequest, core: Core) {
  if (subject.case === "tokenRequest") return explainTokenRequest(subject.value, core);
  if (subject.case === "requestId") return explainRefusal(subject.value, core);
  if (subject.case === "workloadToken") return explainWorkloadToken(subject.value, core);
  if (subject.case === "authorizationRequest") return explainAuthorizationRequest(subject.value, address, core);
  throw new Refusal("invalid_request", "nothing_to_explain");
}

/** Authenticates the caller, then introspects every token in order. @throws {Refusal} invalid_client */
async function answerIntrospection({ client: credential, tokens, signed }: IntrospectRequest, core: Core) {
  const presented = presentedCredential(credential);
  if (signed) await core.keys.settled();
  const prefetched = prefetchStates(tokens, core);
  const client = core.clients.byClientId(presented.clientId);
  const attempt = { presented, address: credential?.address ?? "", client, methodRule: anySecretMethod };
  const caller = await authenticateAttempt(attempt, core);
  const results = await Promise.all(prefetched.map((one) => introspect(one, caller, core)));
  const [only, ...more] = results;
  return signed && only !== undefined && more.length === 0 ? { results, jwt: await signedAnswer(only, caller, core) } : { results };
}
