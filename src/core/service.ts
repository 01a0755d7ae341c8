import { resolveClient } from "../clients/resolve.ts";
import { Refusal } from "../errors.ts";
import type { TokenRequest } from "../gen/countersign/token/v1/token_pb.ts";
import type { GrantType } from "../protocol/grants.ts";

import { verifyApiKey } from "./api-keys.ts";
import { clientView, issueCode, validateAuthorization } from "./authorization.ts";
import { verifyBearer } from "./bearer.ts";
import { anySecretMethod, authenticateClient, countingUnproven, registeredMethod } from "./client-authentication.ts";
import type { Core } from "./core.ts";
import { explainAuthorizationRequest } from "./explain/authorization-request.ts";
import { explainRefusal } from "./explain/refusal.ts";
import { explainTokenRequest } from "./explain/token-request.ts";
import { authorizationCodeGrant } from "./grants/authorization-code/grant.ts";
import { clientCredentialsGrant } from "./grants/client-credentials/grant.ts";
import { jwtBearerGrant } from "./grants/jwt-bearer/grant.ts";
import { loginTokens } from "./grants/login.ts";
import { refreshTokenGrant } from "./grants/refresh-token/grant.ts";
import { tokenExchangeGrant } from "./grants/token-exchange/grant.ts";
import type { TokenCoreImplementation } from "./implementation.ts";
import { inTime } from "./in-time.ts";
import { introspection } from "./introspection.ts";
import { validateLogout } from "./logout.ts";
import { GRANT_RULES } from "./policy/grant-type.ts";
import { assertRules } from "./policy/rule.ts";
import type { CorePorts } from "./ports.ts";
import { auditingRefusals } from "./refusal-audit.ts";
import { recordingUnproven, refuseUnreadable } from "./refused-exchange.ts";
import { revoke } from "./revocation.ts";
import { issuedTokens } from "./signing/issued-tokens.ts";
import { createSigner } from "./signing/signer.ts";
import { successorOf } from "./signing/successor.ts";
import { prefetch } from "./token-request-context.ts";

/** The grant types by the names that the contract gives their members; the other two look after themselves. */
const GRANT_TYPE: Record<
  Exclude<NonNullable<TokenRequest["grant"]["case"]>, "tokenExchange" | "jwtBearer" | "refusedTokenExchange">,
  GrantType
> = {
  authorizationCode: "authorization_code",
  refreshToken: "refresh_token",
  clientCredentials: "client_credentials",
};

/** The token core: who asks, may they, which file answers. */
export function tokenCore(ports: CorePorts): TokenCoreImplementation {
  const whole: Core = {
    ...ports,
    sign: createSigner(),
    issuedTokens: issuedTokens(ports.issuer, ports.keys),
    successor: (wish) => successorOf(ports.keys.signing().accessToken)(wish),
  };

  return {
    async token({ client: credential, requestId, grant }, context) {
      const core = inTime(whole, context);
      const request = { credential, requestId };
      if (grant.case === "refusedTokenExchange") return refuseUnreadable(grant.value, request, core);
      core.keys.signing().hybrid?.assertOpen(); // before anything is consumed
      const ground = prefetch(grant, core);
      const authenticate = () => authenticateClient(credential, registeredMethod, { ...core, clients: ground.clients });
      const client = await (grant.case === "tokenExchange" ? recordingUnproven(request, core, authenticate) : authenticate());
      if (grant.case === undefined) throw new Refusal("unsupported_grant_type", "grant_missing");
      // These two leave a record of every refusal, those of the client's registration too.
      const asker = { client, address: credential?.address ?? "" };
      if (grant.case === "tokenExchange")
        return countingUnproven(asker, core, () => tokenExchangeGrant(grant.value, client, requestId, core));
      if (grant.case === "jwtBearer") return countingUnproven(asker, core, () => jwtBearerGrant(grant.value, client, requestId, core));
      const grantType = GRANT_TYPE[grant.case];
      return auditingRefusals({ client, grantType, requestId }, core, async () => {
        assertRules(GRANT_RULES, { client, grantType, grant });
        switch (grant.case) {
          case "authorizationCode":
            return authorizationCodeGrant(grant.value, await ground.code(), client, requestId, core);
          case "refreshToken":
            return refreshTokenGrant(grant.value, await ground.family(), client, requestId, core);
          case "clientCredentials":
            return clientCredentialsGrant(grant.value, client, requestId, core);
        }
      });
    },

    async validateAuthorization({ request, userId, session, requestId, address }, context) {
      if (request === undefined) throw new Refusal("invalid_request", "request_missing");
      const askedIn =
        session && userId !== undefined ? { userId, sessionId: session.id, authTime: session.authTime, requestId } : undefined;
      return validateAuthorization(request, userId, askedIn, { address, requestId }, inTime(whole, context));
    },

    async issueCode(request, context) {
      return { code: await issueCode(request, inTime(whole, context)) };
    },

    async loginTokens(request, context) {
      whole.keys.signing().hybrid?.assertOpen();
      return loginTokens(request, inTime(whole, context));
    },

    async introspect({ client: credential, tokens }) {
      const asked = introspection(tokens, whole);
      const caller = await authenticateClient(credential, anySecretMethod, { ...whole, clients: asked.clients });
      return { results: await asked.results(caller) };
    },

    async verifyApiKey({ client: credential, key }) {
      await authenticateClient(credential, anySecretMethod, whole);
      return { state: await verifyApiKey(key, whole) };
    },

    async revoke({ client: credential, token, requestId }) {
      const client = await authenticateClient(credential, anySecretMethod, whole);
      await revoke(token, client, requestId, whole);
      return {};
    },

    async verifyAccessToken({ accessToken, use }) {
      return verifyBearer(accessToken, use, whole);
    },

    async publicKeys() {
      return { jwksJson: whole.keys.jwksJson() };
    },

    async resolveClient({ clientId, address }) {
      const client = await resolveClient(clientId, address, whole);
      if (client === undefined) throw new Refusal("not_found", "client_unknown");
      return { client: clientView(client) };
    },

    async validateLogout(request) {
      return validateLogout(request, whole);
    },

    async explain({ subject, address }) {
      if (subject.case === "tokenRequest") return explainTokenRequest(subject.value, whole);
      if (subject.case === "requestId") return explainRefusal(subject.value, whole);
      if (subject.case === "authorizationRequest") return explainAuthorizationRequest(subject.value, address, whole);
      throw new Refusal("invalid_request", "nothing_to_explain");
    },
  };
}
